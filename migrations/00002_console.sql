-- +goose Up
-- What operators do and say. Nothing here decides about orders or money; the guards of 00001 do.

-- A finished thing of somebody's queue leaves it when a person has settled it; a new failure brings it back (the column is cleared).
ALTER TABLE operations ADD settled_at timestamptz;
ALTER TABLE incoming_events ADD settled_at timestamptz;
ALTER TABLE outbox_events ADD settled_at timestamptz;
ALTER TABLE payments ADD settled_at timestamptz; -- an orphan that people have dealt with
-- A mail that nobody will try again: refused, or never confirmed. Its order doesn't wait for it, people do.
ALTER TABLE notifications ADD given_up_at timestamptz CHECK (given_up_at IS NULL OR sent_at IS NULL);
-- What failed for good and isn't a business result: a declined payment is one.
CREATE INDEX operations_broken ON operations (created_at, id)
    WHERE status = 'FAILED' AND settled_at IS NULL AND user_id = '00000000-0000-0000-0000-000000000001' AND type <> 'CREATE_PAYMENT';
CREATE INDEX incoming_events_waiting ON incoming_events (received_at, id) WHERE status = 'RECEIVED' AND attempts > 0;
CREATE INDEX payments_orphans ON payments (created_at, id) WHERE orphaned_at IS NOT NULL AND settled_at IS NULL;
CREATE INDEX refunds_unknown ON refunds (updated_at, id) WHERE status = 'UNKNOWN';
CREATE INDEX shipments_unknown ON shipments (updated_at, id) WHERE status = 'UNKNOWN';
CREATE INDEX operations_type ON operations (type, created_at, id) WHERE user_id <> '00000000-0000-0000-0000-000000000001'; -- people's
CREATE INDEX orders_email ON orders (email, id) WHERE email IS NOT NULL;
CREATE INDEX refunds_provider ON refunds (provider_refund_id) WHERE provider_refund_id IS NOT NULL;

-- Audit, level 1: every press of every button, also those that were refused or absorbed. Append only.
CREATE TABLE audit_actions (
    id           uuid PRIMARY KEY,                -- UUIDv7: in the order of time
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    user_id      uuid NOT NULL,
    role         text NOT NULL,                   -- at that time
    action       text NOT NULL,
    object_type  text NOT NULL,
    object_id    text NOT NULL,
    order_id     uuid,
    reason       text,
    outcome      text NOT NULL CHECK (outcome IN ('DONE','REPLAYED','REFUSED')),
    code         text,                            -- why it was refused
    operation_id uuid,                            -- the press's own intent: equal for every press of one form
    trace_id     text NOT NULL,
    detail       jsonb NOT NULL DEFAULT '{}',
    CHECK (outcome <> 'REFUSED' OR code IS NOT NULL)
);
-- An action is done once, however often its button is pressed.
CREATE UNIQUE INDEX audit_done_once ON audit_actions (operation_id) WHERE outcome = 'DONE';
CREATE INDEX audit_actions_at ON audit_actions (at, id);
CREATE INDEX audit_actions_user ON audit_actions (user_id, at, id);
CREATE INDEX audit_actions_object ON audit_actions (object_id, at);
CREATE INDEX audit_actions_order ON audit_actions (order_id, at) WHERE order_id IS NOT NULL;
-- Level 2: the rows that it touched.
CREATE TABLE audit_rows (
    action_id  uuid NOT NULL REFERENCES audit_actions,
    line       integer NOT NULL,
    table_name text NOT NULL,
    row_id     text NOT NULL,
    before     jsonb,                             -- NULL: made by it
    after      jsonb,
    PRIMARY KEY (action_id, line)
);
-- +goose StatementBegin
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_actions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_actions FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER audit_rows_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_rows FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- Looks at the outside on request: one run for one press, call or tick of the schedule.
CREATE TABLE reconcile_runs (
    id          uuid PRIMARY KEY,                 -- of the intent that asked for it: pressed twice is one run
    started_by  uuid NOT NULL,
    scope       text NOT NULL CHECK (scope IN ('one','selected','matching','schedule')),
    filter      text NOT NULL DEFAULT '',         -- in words, for people
    total       integer NOT NULL,
    changed     integer NOT NULL DEFAULT 0,
    unchanged   integer NOT NULL DEFAULT 0,       -- asked, and the outside doesn't know yet either
    unreachable integer NOT NULL DEFAULT 0,       -- the outside couldn't be asked
    skipped     integer NOT NULL DEFAULT 0,       -- nothing was open any more
    created_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    trace_id    text NOT NULL,
    CHECK (changed + unchanged + unreachable + skipped <= total)
);
CREATE INDEX reconcile_runs_at ON reconcile_runs (created_at, id);
CREATE INDEX reconcile_runs_open ON reconcile_runs (created_at) WHERE finished_at IS NULL;
CREATE TABLE reconcile_items (
    run_id       uuid NOT NULL REFERENCES reconcile_runs,
    object_type  text NOT NULL CHECK (object_type IN ('payment','refund','shipment')),
    object_id    uuid NOT NULL,
    order_id     uuid NOT NULL,
    operation_id uuid,                            -- the one that looks; NULL: nothing is open
    attempt      integer NOT NULL DEFAULT 0,      -- of that operation; a later one is the answer
    before       text NOT NULL,
    after        text,
    result       text CHECK (result IN ('CHANGED','UNCHANGED','UNREACHABLE','SKIPPED')),
    detail       text,
    done_at      timestamptz,
    CHECK ((result IS NULL) = (done_at IS NULL)),
    PRIMARY KEY (run_id, object_id)
);
CREATE INDEX reconcile_items_open ON reconcile_items (run_id) WHERE done_at IS NULL;
CREATE INDEX reconcile_items_object ON reconcile_items (object_id);

-- What people say about a thing that needs attention.
CREATE TABLE cases (
    object_id     uuid PRIMARY KEY,               -- an order's, else an operation's, event's or outbox row's
    assignee      uuid REFERENCES users,
    ticket        text,
    tags          text[] NOT NULL DEFAULT '{}',
    snoozed_until timestamptz,
    updated_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cases_assignee ON cases (assignee) WHERE assignee IS NOT NULL;
CREATE INDEX cases_snoozed ON cases (object_id, snoozed_until) WHERE snoozed_until IS NOT NULL;
CREATE TABLE case_notes (
    id        uuid PRIMARY KEY,                   -- of the intent: pressed twice is one note
    object_id uuid NOT NULL,
    user_id   uuid NOT NULL REFERENCES users,
    text      text NOT NULL,
    at        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX case_notes_object ON case_notes (object_id, at);

-- Money above the limit takes two people.
CREATE TABLE approvals (
    id           uuid PRIMARY KEY,                -- of the intent that asked
    action       text NOT NULL,
    object_id    uuid NOT NULL,
    order_id     uuid,
    input        jsonb NOT NULL,                  -- what will be done, exactly
    reason       text NOT NULL,
    requested_by uuid NOT NULL REFERENCES users,
    requested_at timestamptz NOT NULL DEFAULT now(),
    decision     text CHECK (decision IN ('APPROVED','REJECTED')),
    decided_by   uuid REFERENCES users,
    decided_at   timestamptz,
    CONSTRAINT four_eyes CHECK (decided_by <> requested_by),
    CHECK ((decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL) = (decided_at IS NULL))
);
CREATE INDEX approvals_open ON approvals (requested_at, id) WHERE decision IS NULL;
CREATE INDEX approvals_object ON approvals (object_id);

-- Two orders that look alike: shown, never blocked.
CREATE TABLE possible_duplicates (
    order_id   uuid PRIMARY KEY REFERENCES orders,
    earlier_id uuid NOT NULL REFERENCES orders,
    found_at   timestamptz NOT NULL DEFAULT now(),
    verdict    text CHECK (verdict IN ('technical_retry','on_purpose')),
    note       text,
    settled_by uuid REFERENCES users,
    settled_at timestamptz,
    CHECK ((verdict IS NULL) = (settled_at IS NULL))
);
CREATE INDEX possible_duplicates_open ON possible_duplicates (found_at, order_id) WHERE settled_at IS NULL;

-- One action on many things: a preview freezes the set, its confirmation starts it, once.
CREATE TABLE batches (
    id              uuid PRIMARY KEY,             -- the batch key: made by the server with the preview
    action          text NOT NULL,
    user_id         uuid NOT NULL REFERENCES users,
    filter          text NOT NULL DEFAULT '',     -- in words, for people
    reason          text,
    status          text NOT NULL CHECK (status IN ('PREVIEW','RUNNING','PAUSED','STOPPED','DONE')),
    total           integer NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    started_at      timestamptz,
    finished_at     timestamptz,
    next_attempt_at timestamptz,                  -- the row is due, not the job
    retry_of        uuid REFERENCES batches,      -- a new try of what failed there
    trace_id        text NOT NULL,
    CHECK ((status = 'RUNNING') = (next_attempt_at IS NOT NULL)),
    CHECK ((status IN ('STOPPED','DONE')) = (finished_at IS NOT NULL)),
    CHECK (status IN ('PREVIEW','STOPPED') OR reason IS NOT NULL)
);
CREATE INDEX batches_due ON batches (next_attempt_at) WHERE status = 'RUNNING';
CREATE INDEX batches_at ON batches (created_at, id) WHERE status <> 'PREVIEW';
CREATE TABLE batch_items (
    batch_id  uuid NOT NULL REFERENCES batches ON DELETE CASCADE,
    position  integer NOT NULL,
    object_id uuid NOT NULL,
    order_id  uuid,
    label     text NOT NULL,                      -- for people: type or reason
    state     text NOT NULL DEFAULT '',           -- of the object when the set was frozen
    amount_minor bigint,
    currency  char(3),
    status    text NOT NULL CHECK (status IN ('WAITING','DONE','SKIPPED','FAILED')),
    code      text,                               -- why it was skipped or failed
    done_at   timestamptz,
    CHECK (status NOT IN ('SKIPPED','FAILED') OR code IS NOT NULL),
    PRIMARY KEY (batch_id, position),
    CONSTRAINT one_item_per_object UNIQUE (batch_id, object_id)
);
CREATE INDEX batch_items_open ON batch_items (batch_id, position) WHERE status = 'WAITING';

-- What retention would remove now, and why the rest of what is old stays: worked out by it every hour, read by people.
CREATE TABLE retention_plan (
    table_name text PRIMARY KEY,
    position   integer NOT NULL,
    goes       bigint NOT NULL,
    stays      jsonb NOT NULL,                    -- [{"why": …, "rows": …}], or null
    at         timestamptz NOT NULL
);

-- Mine.
CREATE TABLE saved_views (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users,
    name       text NOT NULL CHECK (name <> ''),
    address    text NOT NULL CHECK (address LIKE '/console/%'),
    shared     boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, name)
);
CREATE INDEX saved_views_shared ON saved_views (name) WHERE shared;
CREATE TABLE preferences (
    user_id uuid PRIMARY KEY REFERENCES users,
    prefs   jsonb NOT NULL                        -- see domain/account/preferences.go
);

-- +goose Down
DROP TABLE retention_plan, preferences, saved_views, batch_items, batches, possible_duplicates, approvals, case_notes, cases, reconcile_items, reconcile_runs,
    audit_rows, audit_actions;
DROP FUNCTION append_only;
DROP INDEX operations_broken, incoming_events_waiting, payments_orphans, refunds_unknown, shipments_unknown, operations_type, orders_email, refunds_provider;
ALTER TABLE notifications DROP given_up_at;
ALTER TABLE operations DROP settled_at;
ALTER TABLE incoming_events DROP settled_at;
ALTER TABLE outbox_events DROP settled_at;
ALTER TABLE payments DROP settled_at;
