-- +goose Up
-- Putting off covers what was there then: what comes into a queue later is shown, although its order is put off.
ALTER TABLE cases ADD snoozed_at timestamptz NOT NULL DEFAULT now();

-- +goose Down
ALTER TABLE cases DROP snoozed_at;
