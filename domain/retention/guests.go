package retention

// oldGuests are walked over for their baskets and for themselves.
func oldGuests(match string) walk {
	return walk{"users u", `u.role = 'guest' AND u.created_at < now() - @guests::interval`, "u.created_at", "u.id", "uuid", match}
}

// here: the guest's browser is still known. Without a session nobody can act as this guest again.
const here = `EXISTS (SELECT FROM sessions s WHERE s.user_id = u.id AND s.expires_at > now())`

// carts of guests: those that nobody came back to. An ordered one stays, so that it is never ordered again.
func carts() rule {
	const left = `c.updated_at < now() - @guests::interval`
	const stays = `CASE WHEN c.status = 'ORDERED' THEN 'became an order' WHEN ` + here + ` THEN 'guest may come back' END`
	guests := oldGuests("c.user_id")
	return rule{
		table: "carts", alias: "c", from: `carts c JOIN users u ON u.id = c.user_id`, old: guests.where + ` AND ` + left,
		stays: stays, goes: left + ` AND (` + stays + `) IS NULL`,
		walk: guests, locks: "c",
		also: `, emptied AS (DELETE FROM cart_items WHERE cart_id IN (SELECT id FROM doomed))`,
	}
}

// users: guests who ordered nothing. Their baskets went before.
func users() rule {
	c, guests := carts(), oldGuests("u.id")
	const known = `WHEN EXISTS (SELECT FROM orders w WHERE w.user_id = u.id) THEN 'guest has orders'
		WHEN ` + here + ` THEN 'guest may come back'
		WHEN EXISTS (SELECT FROM api_tokens w WHERE w.user_id = u.id) THEN 'guest has an API token'`
	return rule{
		table: "users", alias: "u", from: guests.from, old: guests.where,
		stays: `CASE ` + known + ` WHEN EXISTS (SELECT FROM carts c WHERE c.user_id = u.id AND ` + c.remains() + `) THEN 'guest has a basket' END`,
		goes:  `CASE ` + known + ` END IS NULL AND NOT EXISTS (SELECT FROM carts p WHERE p.user_id = u.id)`,
		walk:  guests, locks: "u",
		also: `, ended AS (DELETE FROM sessions WHERE user_id IN (SELECT id FROM doomed))`,
	}
}
