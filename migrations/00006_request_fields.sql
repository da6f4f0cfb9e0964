-- +goose Up
-- What a request asked for, by path, so that two requests of one key can be compared. Personal values are hashed (see
-- domain/operation/fields.go). Nothing decides by it: the fingerprint does.
ALTER TABLE operations ADD request_fields jsonb;
-- The intent page shows a twin from either side.
CREATE INDEX possible_duplicates_earlier ON possible_duplicates (earlier_id);

-- +goose Down
DROP INDEX possible_duplicates_earlier;
ALTER TABLE operations DROP request_fields;
