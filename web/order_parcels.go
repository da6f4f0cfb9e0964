package web

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/provider"
)

// has says that something of a kind was ordered.
func has(o checkout.Order, kind catalog.Kind) bool {
	return slices.ContainsFunc(o.Items, func(i checkout.OrderedItem) bool { return i.Kind == kind })
}

// parcelState names the word for where a parcel is.
func parcelState(s checkout.Shipment) string {
	switch {
	case s.DeliveredAt != nil:
		return "delivered"
	case s.Status == fulfilment.ShipmentSucceeded:
		return "underway"
	case s.Status == fulfilment.ShipmentFailed:
		return "refused"
	case s.Status == fulfilment.ShipmentUnknown:
		return "checking"
	}
	return "preparing"
}

// addressLines is an address as it stands on a parcel.
func (h *Handlers) addressLines(c *fiber.Ctx, a provider.Address) []string {
	country := a.Country
	if key := "country." + country; i18n.Has(key) {
		country = i18n.T(h.speak(c), key)
	}
	lines := []string{a.Name, a.Line1, a.Line2, strings.TrimSpace(a.Postcode + " " + a.City), country}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// masked is an address for somebody who hasn't signed in: the town is enough to recognise it.
func masked(a provider.Address) provider.Address {
	const hidden = "•••"
	if name := []rune(a.Name); len(name) > 0 {
		a.Name = string(name[:1]) + hidden
	}
	a.Line1, a.Line2, a.Postcode = hidden, "", ""
	return a
}
