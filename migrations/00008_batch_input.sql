-- +goose Up
-- What a batch was told besides its reason: to whom it assigns, until when it snoozes. Frozen with the set, as operator.Input.
ALTER TABLE batches ADD input jsonb NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE batches DROP input;
