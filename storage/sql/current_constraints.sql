-- One verdict per graph and constraint: that of the highest level (static, fake, real) at which the check was made.
-- A check that was left out for its cost (over_budget) counts only where there is no other.
SELECT *
FROM constraints
QUALIFY row_number() OVER (
    PARTITION BY signature_sha256, "constraint"
    ORDER BY coalesce(reason, '') = 'over_budget', list_position(['static', 'fake', 'real'], level) DESC
) = 1;
