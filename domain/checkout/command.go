package checkout

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
	"github.com/google/uuid"

	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/store"
)

// Limits of one order.
const (
	maxItems    = 1000 // entries, before those of one product are summed
	maxQuantity = 9999 // units of one product
	maxText     = 200  // characters of a name
)

// Item is a number of units of one product.
type Item struct {
	ProductID string `json:"productId"`
	Quantity  int    `json:"quantity"`
}

// Command is the wish to order. Prices are never part of it.
type Command struct {
	UserID    uuid.UUID
	Key       string // valid (operation.ParseKey) or made by the server
	Items     []Item
	Currency  string
	PromoCode string          // "" for none
	Delivery  *order.Delivery // needed by physical products; else kept, but unused
	Email     string          // receipt address; "" sends none
	Name      string
	Locale    string // "en" or "ru"
	Cart      *Agreed

	sent []Item // Items as they came, for the names of fields
}

// Agreed ties a command to the cart the shopper saw: what was in it and what it came to.
type Agreed struct {
	CartID uuid.UUID
	Basket string       // cart.Basket of the lines on the page
	Total  money.Amount // on the button
}

var rules = validator.New(validator.WithRequiredStructEnabled()) //nolint:gochecknoglobals // caches, safe for concurrent use

// normalised returns the command in the one form that is fingerprinted and stored, or every rule that the input breaks.
func (c Command) normalised() (Command, error) {
	var broken []fault.Field
	breaks := func(field, rule, message string) {
		broken = append(broken, fault.Field{Field: field, Rule: rule, Message: message})
	}
	c.Currency = strings.ToUpper(strings.TrimSpace(c.Currency))
	if !money.Valid(c.Currency) {
		breaks("currency", "iso4217", "must be a currency code such as RUB")
	}
	c.PromoCode = catalog.NormalPromo(operation.Text(c.PromoCode))
	c.Name, c.Email = operation.Text(c.Name), strings.ToLower(strings.TrimSpace(c.Email))
	if tooLong(c.PromoCode) {
		breaks("promoCode", fmt.Sprintf("max=%d", maxText), "is too long")
	}
	if c.Email == "" && c.Cart != nil {
		breaks("email", "required", "is required")
	}
	if c.Email != "" && (rules.Var(c.Email, "email") != nil || len(c.Email) > 254) {
		breaks("email", "email", "must be an e-mail address such as name@example.com")
	}
	if tooLong(c.Name) {
		breaks("name", fmt.Sprintf("max=%d", maxText), "is too long")
	}
	c.sent, c.Items = c.Items, normalItems(c.Items, breaks)
	if c.Delivery != nil {
		normal := c.Delivery.Normalised(breaks)
		c.Delivery = &normal
	}
	for _, text := range []struct{ field, value string }{{"promoCode", c.PromoCode}, {"name", c.Name}, {"email", c.Email}} {
		if !store.Storable(text.value) {
			breaks(text.field, "text", "must be UTF-8 text without the NUL character")
		}
	}
	if len(broken) > 0 {
		return c, fault.Validation(broken...)
	}
	return c, nil
}

func tooLong(s string) bool { return utf8.RuneCountInString(s) > maxText }

// normalItems sums the items of one product and sorts by product: their order and split mean nothing.
func normalItems(items []Item, breaks func(field, rule, message string)) []Item {
	if len(items) == 0 {
		breaks("items", "required", "needs at least one item")
	}
	if len(items) > maxItems {
		breaks("items", fmt.Sprintf("max=%d", maxItems), "has too many items")
		return nil
	}
	sums := map[string]int{}
	for i, item := range items {
		id := operation.Text(item.ProductID)
		if id == "" || tooLong(id) || !store.Storable(id) {
			breaks(fmt.Sprintf("items[%d].productId", i), "required", "must name a product")
		}
		if item.Quantity < 1 || item.Quantity > maxQuantity {
			breaks(fmt.Sprintf("items[%d].quantity", i), fmt.Sprintf("1-%d", maxQuantity), fmt.Sprintf("must be between 1 and %d", maxQuantity))
			continue
		}
		if sums[id] += item.Quantity; sums[id] > maxQuantity {
			breaks(fmt.Sprintf("items[%d].quantity", i), fmt.Sprintf("sum<=%d", maxQuantity), "the items of one product together are too many")
		}
	}
	out := make([]Item, 0, len(sums))
	for id, n := range sums {
		out = append(out, Item{ProductID: id, Quantity: n})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ProductID < out[j].ProductID })
	return out
}

// sentAs names the field in which a product was first sent: normalised items have another order.
func (c Command) sentAs(productID string) string {
	i := slices.IndexFunc(c.sent, func(item Item) bool { return operation.Text(item.ProductID) == productID })
	return fmt.Sprintf("items[%d].productId", i)
}

// fingerprintVersion changes whenever the struct below or a normalisation changes.
const fingerprintVersion = 1

// fingerprint covers what makes the command this command and no other; the cart's part only exists for carts.
func (c Command) fingerprint() (string, error) {
	content := struct {
		Items       []Item
		Currency    string
		PromoCode   string
		Delivery    *order.Delivery
		Email, Name string
		Basket      string
		Total       string
	}{Items: c.Items, Currency: c.Currency, PromoCode: c.PromoCode, Delivery: c.Delivery}
	if c.Cart != nil {
		content.Email, content.Name = c.Email, c.Name
		content.Basket, content.Total = c.Cart.Basket, c.Cart.Total.String()
	}
	return operation.Fingerprint(fingerprintVersion, content)
}

// describe takes the command apart for people who compare two requests of one key: the same parts as in the fingerprint.
func (c Command) describe(f *operation.Fields) {
	for _, item := range c.Items {
		f.Put("items."+item.ProductID, strconv.Itoa(item.Quantity))
	}
	f.Put("currency", c.Currency)
	f.Put("promoCode", c.PromoCode)
	if c.Delivery != nil {
		f.Put("delivery.method", c.Delivery.Method)
		for _, part := range []struct{ path, value string }{
			{"name", c.Delivery.Address.Name},
			{"line1", c.Delivery.Address.Line1},
			{"line2", c.Delivery.Address.Line2},
			{"city", c.Delivery.Address.City},
			{"postcode", c.Delivery.Address.Postcode},
		} {
			f.Personal("delivery.address."+part.path, part.value)
		}
		f.Put("delivery.address.country", c.Delivery.Address.Country)
	}
	if c.Cart != nil {
		f.Personal("email", c.Email)
		f.Personal("name", c.Name)
		f.Put("basket", c.Cart.Basket)
		f.Put("total", c.Cart.Total.String())
	}
}
