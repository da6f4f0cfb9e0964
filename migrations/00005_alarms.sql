-- +goose Up
-- What the overview draws and what raises an alarm. Nothing here decides about orders or money.

-- Work that one process at a time does, now and then: whoever finds it due takes it. No leader is elected, none can be missing.
CREATE TABLE ticks (
    name      text PRIMARY KEY,
    ran_at    timestamptz NOT NULL DEFAULT '-infinity',
    -- Of the rollup: the journal is counted up to done_id. next_id was its end when next_xmax was the next transaction; once all
    -- transactions before that one have ended, no row up to next_id can appear any more (sequence order isn't commit order).
    done_id   bigint NOT NULL DEFAULT 0,
    next_id   bigint NOT NULL DEFAULT 0,
    next_xmax xid8 NOT NULL DEFAULT '0'
);
INSERT INTO ticks (name) VALUES ('rollup'), ('alarms');

-- Counters per minute (kept for a day) and per quarter of an hour (kept for a month). The journal's are added to, queues' are set.
CREATE TABLE rollups (
    series text NOT NULL,
    span   smallint NOT NULL CHECK (span IN (1, 15)), -- minutes
    at     timestamptz NOT NULL,
    label  text NOT NULL,
    n      bigint NOT NULL,
    -- A counter is one row, whoever adds to it.
    PRIMARY KEY (series, span, at, label)
);
CREATE INDEX rollups_old ON rollups (span, at);
-- The latest reuse of a key by each client; how often is in rollups.
CREATE TABLE key_reuse (
    user_id      uuid PRIMARY KEY,
    operation_id uuid NOT NULL,
    at           timestamptz NOT NULL
);

CREATE TABLE alarms (
    name            text PRIMARY KEY,
    state           text NOT NULL CHECK (state IN ('OK','FIRING')),
    value           double precision NOT NULL,   -- seconds or a number, as unit says
    unit            text NOT NULL CHECK (unit IN ('age','count')),
    max_value       double precision NOT NULL,   -- above it fires
    n               integer NOT NULL,            -- things behind it
    since           timestamptz NOT NULL,
    checked_at      timestamptz NOT NULL,
    calm            integer NOT NULL DEFAULT 0,  -- looks in a row, while firing, that found it below the limit
    alerted         uuid,                        -- the firing that people were told of; NULL: none, or it was silenced
    acknowledged_by uuid REFERENCES users,
    silenced_until  timestamptz,
    CHECK (state = 'FIRING' OR (acknowledged_by IS NULL AND alerted IS NULL))
);
CREATE INDEX alarms_firing ON alarms (name) WHERE state = 'FIRING';
-- What happened to an alarm. Append only.
CREATE TABLE alarm_history (
    id        uuid PRIMARY KEY,                  -- travels with the alert; of a press: its intent's, so pressed twice is one line
    alarm     text NOT NULL,
    what      text NOT NULL CHECK (what IN ('FIRED','RECOVERED','ACKNOWLEDGED','SILENCED')),
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    value     double precision NOT NULL,
    max_value double precision NOT NULL,
    unit      text NOT NULL,
    n         integer NOT NULL,
    since     timestamptz NOT NULL,
    user_id   uuid REFERENCES users,             -- who pressed
    reason    text,
    until     timestamptz,
    CHECK ((what IN ('ACKNOWLEDGED','SILENCED')) = (user_id IS NOT NULL AND reason IS NOT NULL)),
    CHECK ((what = 'SILENCED') = (until IS NOT NULL))
);
CREATE INDEX alarm_history_at ON alarm_history (at, id);
CREATE INDEX alarm_history_alarm ON alarm_history (alarm, at, id);
-- Who is told. The row is due, not the job; a repeat carries the same id.
CREATE TABLE alarm_deliveries (
    history_id      uuid NOT NULL REFERENCES alarm_history,
    channel         text NOT NULL CHECK (channel IN ('log','webhook','mail')),
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz DEFAULT now(),   -- NULL: it was told, or given up
    sent_at         timestamptz,
    last_error      text,
    -- One alert per firing, one "recovered" per recovery, for each channel.
    PRIMARY KEY (history_id, channel),
    CHECK (sent_at IS NULL OR next_attempt_at IS NULL)
);
CREATE INDEX alarm_deliveries_due ON alarm_deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

-- +goose Down
DROP TABLE alarm_deliveries, alarm_history, alarms, key_reuse, rollups, ticks;
