-- +goose Up
-- Every "only once" of onefold is a constraint in this file. The comment at each names the promise it keeps.

-- People and the system's own identity.
CREATE TABLE users (
    id            uuid PRIMARY KEY,
    email         text UNIQUE CHECK (email = lower(email)),
    password_hash text,
    role          text NOT NULL CHECK (role IN ('system','guest','shopper','viewer','support','operator','approver','admin')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- A guest has no address of its own yet; everybody else signs in with one.
    CHECK (role IN ('system','guest') OR email IS NOT NULL)
);
CREATE INDEX users_guests ON users (created_at, id) WHERE role = 'guest'; -- retention
-- The user of the system's own intents (payments, fulfilment). Nobody can sign in as it.
INSERT INTO users (id, role) VALUES ('00000000-0000-0000-0000-000000000001', 'system');

CREATE TABLE sessions (
    token_hash   bytea PRIMARY KEY,               -- SHA-256 of the cookie: a stolen table opens nothing
    user_id      uuid NOT NULL REFERENCES users,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE api_tokens (
    token_hash bytea PRIMARY KEY,                 -- SHA-256 of the token, which is shown once
    user_id    uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

CREATE TABLE login_throttle (
    subject      text PRIMARY KEY,                -- 'email:…' or 'ip:…'
    failures     integer NOT NULL DEFAULT 0,
    retry_at     timestamptz NOT NULL DEFAULT now()
);

-- Operations: one row per intent.
CREATE TABLE operations (
    id               uuid PRIMARY KEY,            -- UUIDv5 of (user, type, target, key): the identity itself, see domain/operation
    user_id          uuid NOT NULL,
    type             text NOT NULL,
    target           text NOT NULL DEFAULT '',
    key              text NOT NULL,
    request_hash     text NOT NULL,               -- versioned fingerprint of the normalised command
    status           text NOT NULL CHECK (status IN ('PROCESSING','COMPLETED','FAILED')),
    order_id         uuid,                        -- the order it belongs to, once known
    attempt          integer NOT NULL DEFAULT 0,  -- fencing token: grows with every lease
    lease_expires_at timestamptz,                 -- database clock
    lease_owner      text,
    sent_at          timestamptz,                 -- since when a call may have reached the outside; never cleared
    looks            integer NOT NULL DEFAULT 0,  -- tries that brought no knowledge: sets the pace of the next look
    absences         integer NOT NULL DEFAULT 0,  -- lookups in a row that found nothing
    next_attempt_at  timestamptz,                 -- the row is due, not the job
    resource_type    text,
    resource_id      text,
    response_code    integer,
    response_body    text,
    failure_code     text,
    last_error       text,
    trace_id         text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    completed_at     timestamptz,
    expires_at       timestamptz,
    -- One intent, one row: N retries of one key meet here. `key` comes first so that support can search by it.
    CONSTRAINT operations_identity UNIQUE (key, user_id, type, target),
    -- A finished operation has its end and is never due again; an unfinished one always has a next look (nothing is forgotten).
    CHECK ((status = 'PROCESSING') = (completed_at IS NULL)),
    CHECK ((status = 'PROCESSING') = (next_attempt_at IS NOT NULL)),
    -- A result is either a resource or a named failure.
    CHECK (status <> 'COMPLETED' OR (resource_type IS NOT NULL AND resource_id IS NOT NULL)),
    CHECK (status <> 'FAILED' OR failure_code IS NOT NULL)
);
CREATE INDEX operations_due ON operations (next_attempt_at) WHERE status = 'PROCESSING';
CREATE INDEX operations_failed ON operations (created_at, id) WHERE status = 'FAILED';
CREATE INDEX operations_order ON operations (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX operations_recent ON operations (created_at, id);

-- Catalogue.
CREATE TABLE products (
    id        text PRIMARY KEY,
    kind      text NOT NULL CHECK (kind IN ('license','physical')),
    name_en   text NOT NULL,
    name_ru   text NOT NULL,
    blurb_en  text NOT NULL,
    blurb_ru  text NOT NULL,
    position  integer NOT NULL DEFAULT 0,
    on_hand   integer NOT NULL,
    reserved  integer NOT NULL DEFAULT 0,         -- units in open and paid orders
    -- Stock is never negative and never oversold, whoever races.
    CONSTRAINT stock_covers_reservations CHECK (reserved >= 0 AND reserved <= on_hand)
) WITH (fillfactor = 50);
CREATE TABLE product_prices (
    product_id  text NOT NULL REFERENCES products,
    currency    char(3) NOT NULL,
    price_minor bigint NOT NULL CHECK (price_minor > 0),
    PRIMARY KEY (product_id, currency)
);
CREATE TABLE promo_codes (
    code        text PRIMARY KEY CHECK (code = upper(code)),
    percent_off integer NOT NULL CHECK (percent_off BETWEEN 1 AND 99),
    max_uses    integer NOT NULL,
    uses        integer NOT NULL DEFAULT 0,
    -- A limited code is never used more often than its limit.
    CONSTRAINT promo_within_limit CHECK (uses >= 0 AND uses <= max_uses)
);

-- Carts: the browser's key belongs to the cart.
CREATE TABLE carts (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users,
    status       text NOT NULL CHECK (status IN ('OPEN','ORDERED','MERGED')),
    checkout_key text UNIQUE,                     -- made by the server when checkout begins
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
-- Every tab of one person sees the same cart, so all of them carry the same key.
CREATE UNIQUE INDEX carts_one_open ON carts (user_id) WHERE status = 'OPEN';
CREATE INDEX carts_user ON carts (user_id); -- a guest's orders and baskets are adopted at sign-in, or go with the guest
CREATE TABLE cart_items (
    cart_id    uuid NOT NULL REFERENCES carts,
    product_id text NOT NULL REFERENCES products,
    quantity   integer NOT NULL CHECK (quantity BETWEEN 1 AND 99),
    PRIMARY KEY (cart_id, product_id)
);

-- Enquiries of the contact form: one per intent.
CREATE TABLE leads (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL,
    operation_id uuid NOT NULL UNIQUE,
    name         text NOT NULL,
    email        text NOT NULL,
    message      text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- Orders.
CREATE TABLE orders (
    id             uuid PRIMARY KEY,
    number         bigint GENERATED ALWAYS AS IDENTITY (START WITH 1001), -- for people; gaps are normal
    user_id        uuid NOT NULL,
    cart_id        uuid,
    operation_id   uuid NOT NULL,
    status         text NOT NULL CHECK (status IN ('AWAITING_PAYMENT','PAID','FULFILLED','CANCELED','EXPIRED','PARTIALLY_REFUNDED','REFUNDED')),
    needs_review   boolean NOT NULL DEFAULT false,
    review_reason  text,
    email          text,
    customer_name  text,
    locale         text NOT NULL DEFAULT 'en',
    delivery       jsonb,
    currency       char(3) NOT NULL,
    subtotal_minor bigint NOT NULL CHECK (subtotal_minor >= 0),
    discount_minor bigint NOT NULL DEFAULT 0 CHECK (discount_minor >= 0),
    total_minor    bigint NOT NULL CHECK (total_minor >= 0),
    promo_code     text REFERENCES promo_codes,
    created_at     timestamptz NOT NULL DEFAULT now(),
    paid_at        timestamptz,
    fulfilled_at   timestamptz,
    closed_at      timestamptz,
    closed_by      uuid,                          -- the operation that closed it: its key outlives it, too
    expiry_planned_at timestamptz,
    outbox_removed text[],                        -- types of its outbox events that retention has removed
    CHECK (total_minor = subtotal_minor - discount_minor),
    CHECK (needs_review = (review_reason IS NOT NULL)),
    CHECK (status NOT IN ('PAID','FULFILLED','PARTIALLY_REFUNDED','REFUNDED') OR paid_at IS NOT NULL),
    CHECK (status <> 'FULFILLED' OR fulfilled_at IS NOT NULL),
    -- One order per intent, for ever: the operation's id is (user, type, key), so this outlives the operation row (retention).
    CONSTRAINT one_order_per_intent UNIQUE (operation_id),
    -- One order per cart, whatever key a second tab carries.
    CONSTRAINT one_order_per_cart UNIQUE (cart_id)
) WITH (fillfactor = 80);
CREATE INDEX orders_user ON orders (user_id, id); -- UUIDv7: in the order of creation
CREATE INDEX orders_number ON orders (number);
CREATE INDEX orders_review ON orders (created_at, id) WHERE needs_review;
CREATE INDEX orders_unpaid ON orders (created_at) WHERE status = 'AWAITING_PAYMENT' AND expiry_planned_at IS NULL;
CREATE INDEX orders_unfulfilled ON orders (paid_at) WHERE status = 'PAID';

CREATE TABLE order_items (
    id          uuid PRIMARY KEY,
    order_id    uuid NOT NULL REFERENCES orders,
    product_id  text NOT NULL REFERENCES products,
    kind        text NOT NULL CHECK (kind IN ('license','physical')),
    name        text NOT NULL,
    quantity    integer NOT NULL CHECK (quantity > 0),
    price_minor bigint NOT NULL CHECK (price_minor >= 0),
    CONSTRAINT one_line_per_product UNIQUE (order_id, product_id)
);

CREATE TABLE payments (
    id                  uuid PRIMARY KEY,
    order_id            uuid NOT NULL REFERENCES orders,
    attempt             integer NOT NULL CHECK (attempt > 0),
    operation_id        uuid NOT NULL,            -- the external operation that creates it at the provider
    requested_by        uuid,                     -- the shopper's operation that wanted it; NULL if it came with the order
    status              text NOT NULL CHECK (status IN ('CREATED','SUBMITTING','PENDING','UNKNOWN','SUCCEEDED','CANCELED','FAILED','PARTIALLY_REFUNDED','REFUNDED')),
    amount_minor        bigint NOT NULL CHECK (amount_minor >= 0),
    refunded_minor      bigint NOT NULL DEFAULT 0,
    currency            char(3) NOT NULL,
    provider            text NOT NULL,
    provider_key        text NOT NULL,            -- stored before the first call, never replaced
    provider_payment_id text,
    confirmation_url    text,
    failure_code        text,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    succeeded_at        timestamptz,
    orphaned_at         timestamptz,              -- money came that its order couldn't take; it is sent back
    CHECK (orphaned_at IS NULL OR provider_payment_id IS NOT NULL),
    CHECK (status NOT IN ('PENDING','SUCCEEDED','PARTIALLY_REFUNDED','REFUNDED') OR provider_payment_id IS NOT NULL),
    -- Refunds never exceed what was captured.
    CONSTRAINT refunds_within_capture CHECK (refunded_minor >= 0 AND refunded_minor <= amount_minor),
    CONSTRAINT one_attempt_number UNIQUE (order_id, attempt),
    -- One attempt per external operation; the executor finds it by this.
    CONSTRAINT one_attempt_per_operation UNIQUE (operation_id)
) WITH (fillfactor = 80);
-- At most one attempt of an order is not final: nobody is asked to pay twice.
CREATE UNIQUE INDEX one_open_payment ON payments (order_id) WHERE status IN ('CREATED','SUBMITTING','PENDING','UNKNOWN');
-- One provider object is one payment of ours.
CREATE UNIQUE INDEX one_payment_per_provider_object ON payments (provider_payment_id, provider) WHERE provider_payment_id IS NOT NULL;
-- One attempt per wish to pay again, for ever.
CREATE UNIQUE INDEX one_attempt_per_wish ON payments (requested_by) WHERE requested_by IS NOT NULL;
CREATE INDEX payments_orphaned ON payments (order_id) WHERE orphaned_at IS NOT NULL;
CREATE INDEX payments_recent ON payments (created_at, id);
CREATE INDEX payments_unknown ON payments (updated_at, id) WHERE status = 'UNKNOWN';

CREATE TABLE refunds (
    id                 uuid PRIMARY KEY,
    order_id           uuid NOT NULL REFERENCES orders,
    payment_id         uuid NOT NULL REFERENCES payments,
    operation_id       uuid NOT NULL UNIQUE,
    requested_by       uuid,                      -- the operator's operation that wanted it; NULL if nobody of ours did
    status             text NOT NULL CHECK (status IN ('CREATED','SUBMITTING','UNKNOWN','SUCCEEDED','FAILED')),
    amount_minor       bigint NOT NULL CHECK (amount_minor > 0),
    currency           char(3) NOT NULL,
    reason             text NOT NULL,
    provider           text NOT NULL,
    provider_key       text NOT NULL,
    provider_refund_id text,
    external           boolean NOT NULL DEFAULT false, -- made at the provider without us
    failure_code       text,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    CHECK (status <> 'SUCCEEDED' OR provider_refund_id IS NOT NULL),
    -- One refund at the provider is one refund here, however often it is reported.
    CONSTRAINT one_refund_per_provider_object UNIQUE (provider, provider_refund_id)
);
-- One refund per wish, for ever: money doesn't go back twice because a key's result is no longer kept.
CREATE UNIQUE INDEX one_refund_per_wish ON refunds (requested_by) WHERE requested_by IS NOT NULL;
CREATE INDEX refunds_payment ON refunds (payment_id);
CREATE INDEX refunds_order ON refunds (order_id, id);

-- What came from outside.
CREATE TABLE incoming_events (
    id              uuid PRIMARY KEY,
    provider        text NOT NULL,
    event_id        text NOT NULL,
    event_type      text NOT NULL,
    object_id       text NOT NULL,
    payload         bytea NOT NULL,               -- the verified bytes: NUL and lone surrogates survive
    payload_hash    text NOT NULL,                -- hex SHA-256 of payload
    contradicts     uuid REFERENCES incoming_events, -- set when another payload came under a known ID
    status          text NOT NULL CHECK (status IN ('RECEIVED','APPLIED','NO_CHANGE','STALE','IGNORED','QUARANTINED')),
    reason          text,
    deliveries      integer NOT NULL DEFAULT 1,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    payment_id      uuid,
    order_id        uuid,
    trace_id        text NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT now(),
    processed_at    timestamptz,
    CHECK ((status = 'RECEIVED') = (processed_at IS NULL)),
    CHECK ((status = 'RECEIVED') = (next_attempt_at IS NOT NULL)),
    CHECK (contradicts IS NULL OR status = 'QUARANTINED')
);
-- One event, one row, however often it is delivered.
CREATE UNIQUE INDEX one_row_per_event ON incoming_events (event_id, provider) WHERE contradicts IS NULL;
-- The same contradiction, kept once.
CREATE UNIQUE INDEX one_row_per_contradiction ON incoming_events (event_id, provider, payload_hash) WHERE contradicts IS NOT NULL;
CREATE INDEX incoming_events_due ON incoming_events (next_attempt_at) WHERE status = 'RECEIVED';
CREATE INDEX incoming_events_quarantined ON incoming_events (received_at, id) WHERE status = 'QUARANTINED';
CREATE INDEX incoming_events_recent ON incoming_events (received_at, id);
CREATE INDEX incoming_events_contradicts ON incoming_events (contradicts) WHERE contradicts IS NOT NULL;
CREATE INDEX incoming_events_order ON incoming_events (order_id) WHERE order_id IS NOT NULL;

-- What happened here and must have consequences.
CREATE TABLE outbox_events (
    id              uuid PRIMARY KEY,
    dedupe_key      text NOT NULL,
    event_type      text NOT NULL,
    order_id        uuid NOT NULL,
    trace_id        text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    dispatched_at   timestamptz,
    parked_at       timestamptz,                  -- given up: listed in the console until somebody settles it
    last_error      text,
    -- One fact, one event, from whichever path it was learned.
    CONSTRAINT one_event_per_fact UNIQUE (dedupe_key),
    CHECK (dispatched_at IS NULL OR parked_at IS NULL)
);
CREATE INDEX outbox_events_due ON outbox_events (next_attempt_at) WHERE dispatched_at IS NULL AND parked_at IS NULL;
CREATE INDEX outbox_events_parked ON outbox_events (created_at, id) WHERE parked_at IS NOT NULL;
CREATE INDEX outbox_events_recent ON outbox_events (created_at, id);
CREATE INDEX outbox_events_order ON outbox_events (order_id);

-- Effects of a paid order: each with its own "once".
CREATE TABLE licenses (
    order_item_id uuid NOT NULL REFERENCES order_items,
    unit          integer NOT NULL CHECK (unit > 0),
    order_id      uuid NOT NULL REFERENCES orders,
    license_key   text NOT NULL UNIQUE,
    issued_at     timestamptz NOT NULL DEFAULT now(),
    revoked_at    timestamptz,
    -- One licence per paid unit: a repeated job finds it here.
    PRIMARY KEY (order_item_id, unit)
);
CREATE INDEX licenses_order ON licenses (order_id);

-- A parcel. A carrier's refusal ends its attempt; an operator's correction starts the next one in the same row.
CREATE TABLE shipments (
    id                   uuid NOT NULL UNIQUE,        -- the carrier's reference, in every attempt
    order_id             uuid NOT NULL REFERENCES orders,
    parcel               integer NOT NULL CHECK (parcel > 0),
    attempt              integer NOT NULL DEFAULT 1 CHECK (attempt > 0),
    operation_id         uuid NOT NULL UNIQUE,        -- of the attempt
    status               text NOT NULL CHECK (status IN ('CREATED','SUBMITTING','UNKNOWN','SUCCEEDED','FAILED')),
    address              jsonb,                       -- as this attempt sends it: a repeat sends the same
    provider_key         text NOT NULL UNIQUE,        -- stored before the first call, one per attempt
    provider_shipment_id text UNIQUE,
    tracking             text,                        -- the carrier's number for people
    failure_code         text,
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    delivered_at         timestamptz,                 -- when we heard of it
    CHECK (status <> 'SUCCEEDED' OR provider_shipment_id IS NOT NULL),
    CHECK (delivered_at IS NULL OR status = 'SUCCEEDED'),
    -- At most one shipment per parcel.
    PRIMARY KEY (order_id, parcel)
);
CREATE INDEX shipments_tracking ON shipments (tracking) WHERE tracking IS NOT NULL;

CREATE TABLE bonus_entries (
    order_id   uuid NOT NULL REFERENCES orders,
    kind       text NOT NULL CHECK (kind IN ('ACCRUAL','REVERSAL')),
    user_id    uuid NOT NULL,
    points     bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- One accrual and at most one reversal per order; the balance is their sum, never a counter.
    PRIMARY KEY (order_id, kind)
);
CREATE INDEX bonus_entries_user ON bonus_entries (user_id);

CREATE TABLE notifications (
    dedupe_key text PRIMARY KEY,                  -- mail:<kind>:order:<id>: one notification per (order, kind)
    order_id   uuid NOT NULL REFERENCES orders,
    kind       text NOT NULL,
    recipient  text NOT NULL,
    message_id text NOT NULL,                     -- made from dedupe_key: a technical repeat carries the same
    sends      integer NOT NULL DEFAULT 0,        -- how often it was handed to SMTP
    sent_at    timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (order_id, kind)
);

-- The journal: what happened, for people. Append only.
CREATE TABLE journal (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at                timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind              text NOT NULL,              -- '<entity>.<what>', e.g. order.paid, operation.replayed, inbox.stale
    trace_id          text NOT NULL,
    operation_id      uuid,
    order_id          uuid,
    payment_id        uuid,
    incoming_event_id uuid,
    outbox_event_id   uuid,
    job_id            bigint,
    detail            jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX journal_order ON journal (order_id, id) WHERE order_id IS NOT NULL;
-- What has an order is found by it; these two find the rest.
CREATE INDEX journal_operation ON journal (operation_id, id) WHERE order_id IS NULL AND operation_id IS NOT NULL;
CREATE INDEX journal_event ON journal (incoming_event_id, id) WHERE order_id IS NULL AND incoming_event_id IS NOT NULL;
CREATE INDEX journal_trace ON journal (trace_id);
-- What tells of rows that are removed some day may go after them; what tells of orders and money stays as they do.
CREATE INDEX journal_passing ON journal (at, id) WHERE split_part(kind, '.', 1) IN ('operation', 'inbox', 'outbox', 'effect');
CREATE INDEX journal_job ON journal (job_id) WHERE job_id IS NOT NULL;

-- +goose Down
DROP TABLE leads, journal, notifications, bonus_entries, shipments, licenses, outbox_events, incoming_events, refunds, payments,
    order_items, orders, cart_items, carts, promo_codes, product_prices, products, operations, login_throttle, api_tokens, sessions, users;
