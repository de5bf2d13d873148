"""prefect.yaml deploys the refresh flow on a real server, by its module entrypoint, with its schedule inactive."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, subprocess, sys
from pathlib import Path
from flows.server import prefect_server

with prefect_server(Path(sys.argv[1])):
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    subprocess.run([*prefect, "work-pool", "create", "passnet", "--type", "process"], check=True)
    subprocess.run([*prefect, "deploy", "--all"], check=True)
    from prefect.client.orchestration import get_client
    from prefect.flows import load_flow_from_entrypoint

    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name("refresh/refresh")
    flow = load_flow_from_entrypoint(deployment.entrypoint)
    flow.validate_parameters(deployment.parameters)
    print("deployed", deployment.entrypoint, flow.name, [one.active for one in deployment.schedules])
"""


def test_refresh_deploys_with_its_schedule_inactive(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "deployed flows.refresh.refresh refresh [False]"
