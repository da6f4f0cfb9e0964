-- +goose Up
-- Operations that nothing but this installation keeps waiting: the queue of stuck ones reads them from the oldest end. Those that
-- wait for a payment or a shopper are many and fine; of them operations_due finds what is overdue.
CREATE INDEX operations_waiting ON operations (created_at, id)
    WHERE status = 'PROCESSING' AND type NOT IN ('CREATE_PAYMENT', 'WATCH_PAYMENT', 'EXPIRE_ORDER');

-- People of the console among many shoppers.
CREATE INDEX users_staff ON users (id) WHERE role NOT IN ('shopper', 'guest');

-- The console's list of orders, whole and by state: any state may be a rare one.
CREATE INDEX orders_recent ON orders (created_at, id);
CREATE INDEX orders_state ON orders (status, created_at, id);

-- +goose Down
DROP INDEX orders_state;
DROP INDEX orders_recent;
DROP INDEX users_staff;
DROP INDEX operations_waiting;
