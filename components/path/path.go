// Package path names every address of the web front. Routes, redirects and components call the same
// functions, so an address has one spelling. A route's pattern is the function called with its
// parameter: Product(":id") is "/products/:id".
package path

import (
	"net/url"
	"strings"
)

func Home() string { return "/" }

func Product(id string) string { return "/products/" + segment(id) }

func Cart() string { return "/cart" }

// CartItems takes POST: adds a product to the basket.
func CartItems() string { return "/cart/items" }

// CartItem takes POST: sets the quantity of one product; 0 removes it.
func CartItem(productID string) string { return "/cart/items/" + segment(productID) }

// CheckoutStart redirects to the checkout of the open basket, which carries its key in the address.
func CheckoutStart() string { return "/checkout" }

func Checkout(key string) string { return "/checkout/" + segment(key) }

// CheckoutStatus is the safe way out after a lost answer: it leads to the order or back to the form.
func CheckoutStatus(key string) string { return Checkout(key) + "/status" }

func Orders() string { return "/orders" }

func Order(id string) string { return "/orders/" + segment(id) }

// OrderPay redirects to the provider's payment page. It changes nothing.
func OrderPay(id string) string { return Order(id) + "/pay" }

// OrderPayments takes POST: a new payment attempt after a confirmed failure.
func OrderPayments(id string) string { return Order(id) + "/payments" }

// OrderCancel takes POST.
func OrderCancel(id string) string { return Order(id) + "/cancel" }

// OrderBuyAgain takes POST: opens a new basket with the same products.
func OrderBuyAgain(id string) string { return Order(id) + "/buy-again" }

// OrderFind takes POST: opens a guest's order in another browser, by the address it was placed with.
func OrderFind(id string) string { return Order(id) + "/find" }

// PayReturn is where the provider sends the customer back. It only redirects to the order.
func PayReturn() string { return "/pay/return" }

func SignIn() string { return "/sign-in" }

// SignOut takes POST, from shop and console.
func SignOut() string { return "/sign-out" }

// Prefs takes POST: language, theme.
func Prefs() string { return "/prefs" }

// Go leads to the page of the intent behind any ID.
func Go(id string) string { return "/go/" + segment(id) }

// WithQuery adds parameters given as name, value pairs; pairs with an empty value are left out.
func WithQuery(address string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return address
	}
	return address + "?" + values.Encode()
}

// segment escapes one path segment. A leading colon stays: it is a route's parameter.
func segment(s string) string {
	if strings.HasPrefix(s, ":") {
		return s
	}
	return url.PathEscape(s)
}
