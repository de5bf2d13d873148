"""prefect.yaml deploys its flows on a real server, by module entrypoints, with their schedules inactive."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, subprocess, sys
from pathlib import Path
from flows.server import prefect_server

with prefect_server(Path(sys.argv[1])):
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    for pool in ("passnet", "cuda"):
        subprocess.run([*prefect, "work-pool", "create", pool, "--type", "process"], check=True)
    subprocess.run([*prefect, "deploy", "--all"], check=True)
    from prefect.client.orchestration import get_client
    from prefect.flows import load_flow_from_entrypoint

    deployed = {}
    with get_client(sync_client=True) as client:
        for deployment in client.read_deployments():
            flow = load_flow_from_entrypoint(deployment.entrypoint)
            flow.validate_parameters(deployment.parameters)
            active = [one.active for one in deployment.schedules]
            deployed[deployment.name] = [flow.name, deployment.entrypoint, deployment.work_pool_name, active]
    print(json.dumps(deployed))
"""


def test_deployments_have_their_pools_and_inactive_schedules(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    refresh, profile = ("refresh", "flows.refresh.refresh"), ("profile", "flows.profile_instances.profile")
    assert json.loads(run.stdout.splitlines()[-1]) == {
        "refresh": [*refresh, "passnet", [False]],
        "refresh-hub": [*refresh, "passnet", [False]],
        "profile-cuda": [*profile, "cuda", [False]],
        "bench": ["bench-build", "flows.bench_build.bench_build", "passnet", [False]],
        "profile-cpu": [*profile, "passnet", [False]],
    }
