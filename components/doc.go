// Package components only documents its folders; it holds no code.
//
//	path     addresses, as functions
//	i18n     words in English and Russian, plurals, times, zones
//	ui       the kit: buttons, fields, badges, tables, drawings; hx.templ is the only file with htmx attributes
//	layout   the shells of shop and console
//	shop     the customers' pages
//	console  the operators' pages
//
// Components take view models only: money and names arrive formatted, times as time.Time, errors translated. A handler puts
// language, zone and moment into the context with i18n.With and renders into a buffer.
//
// Tests find things by data-testid. Everywhere: notice, error-summary, field-<name>, empty, pager-newer, pager-older,
// sign-in-link, sign-out, account, sign-in-form, sign-in-button, lang-switch, other-language, theme-switch, reference.
//
// Shop: products, product-<slug>, add-to-basket, basket-link, basket-count, orders-link, cart-lines, line-<slug>, quantity,
// update-quantity, remove, total, checkout-button, to-shop, checkout-form, pay-button, retry-status, check-order,
// conflict-other, open-order, start-checkout, conflict-basket, continue-checkout, back-to-basket, order-number,
// order-status (with data-state, see shop.State), continue-to-payment, retry-payment, cancel-order, buy-again, check-again,
// progress (its items carry data-step), license-keys, license-key, receipt, orders, order-row, error-page, retry, to-basket.
//
// Console: console-search, env, updated, operation-row, payment-row, inbox-row, outbox-row (all with data-id), clear-filter,
// intent-title, verdict (with data-verdict), verdict-sum, absorbed, diagram, identity, identity-<kind>, timeline (entries carry
// data-kind), timeline-next, search-none, search-match, error-page, to-operations.
//
// Set PREVIEW_DIR and run the tests of this package to get every page in every state as a file to look at.
package components
