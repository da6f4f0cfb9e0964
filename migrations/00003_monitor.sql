-- +goose Up
-- What the workers' own check of the invariants found last (domain/invariant/monitor.go): a row per invariant, for the console,
-- alarms and metrics. No row: nobody has looked yet.
CREATE TABLE invariant_results (
    number      integer PRIMARY KEY CHECK (number > 0), -- in the contract's list
    name        text NOT NULL,
    violations  bigint NOT NULL CHECK (violations >= 0),
    sample      text,                             -- one of them, in words
    checked_at  timestamptz NOT NULL,             -- when somebody looked last, at least at what had changed
    complete_at timestamptz,                      -- when all rows were looked at last; NULL: not yet
    took_ms     bigint NOT NULL,                  -- of that look
    since       timestamptz                       -- since when it has been violated; NULL: it holds
);

-- +goose Down
DROP TABLE invariant_results;
