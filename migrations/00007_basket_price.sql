-- +goose Up
-- The price of one unit that the shopper saw when the line was put in or last changed, so that the basket can say that it has
-- changed since. Only shown: what is charged comes from the catalogue. NULL: not known, nothing is said.
ALTER TABLE cart_items
    ADD seen_price_minor bigint,
    ADD seen_currency    text,
    ADD CONSTRAINT seen_price_whole CHECK ((seen_price_minor IS NULL) = (seen_currency IS NULL));

-- +goose Down
ALTER TABLE cart_items DROP seen_price_minor, DROP seen_currency;
