package components_test

import (
	"time"

	"github.com/a-h/templ"

	"onefold/components/i18n"
	"onefold/components/layout"
	"onefold/components/path"
	"onefold/components/shop"
	"onefold/components/ui"
)

// A page is one sample that every test of this package renders.
type page struct {
	name string
	body templ.Component
}

var now = time.Date(2026, 11, 29, 18, 42, 7, 0, time.UTC)

func shopPage() layout.Page {
	return layout.Page{CSRF: "csrf-token", Return: path.Home(), Basket: 3, Currency: "RUB", Currencies: []string{"RUB", "KWD"}, User: layout.User{Email: "ada@example.test", Role: "operator"}}
}

func guestPage() layout.Page {
	return layout.Page{CSRF: "csrf-token", Return: path.Home()}
}

// names are what a shop would send in each language.
func name(l i18n.Lang, en, ru string) string {
	if l == i18n.Russian {
		return ru
	}
	return en
}

func products(l i18n.Lang) []shop.ProductCard {
	card := func(id, en, ru, blurbEN, blurbRU, price string, stock int) shop.ProductCard {
		kind := "license"
		if id == "slate-mug" {
			kind = "physical"
		}
		return shop.ProductCard{ID: id, Kind: kind, Name: name(l, en, ru), Blurb: name(l, blurbEN, blurbRU), Price: name(l, "RUB "+price, price+" ₽"), Stock: stock}
	}
	return []shop.ProductCard{
		card("lumen-notes", "Lumen Notes", "Lumen Notes", "Notes that find themselves. Plain files, instant search, no account.", "Заметки, которые находятся сами. Обычные файлы, мгновенный поиск.", "2,490.00", 900),
		card("gridline-studio", "Gridline Studio", "Gridline Studio", "A layout tool for people who like their columns exact.", "Вёрстка для тех, кто любит точные колонки.", "6,900.00", 900),
		card("tidepool-audio", "Tidepool Audio", "Tidepool Audio", "Record, trim and master a podcast in one window.", "Запись, монтаж и мастеринг подкаста в одном окне.", "4,490.00", 900),
		card("copper-ledger", "Copper Ledger", "Медная книга", "Bookkeeping for a company of one.", "Бухгалтерия для компании из одного человека.", "3,299.90", 900),
		card("northwind-maps", "Northwind Maps", "Карты Норд-Вест", "Offline maps with contour lines.", "Офлайн-карты с горизонталями.", "1,499.00", 900),
		card("pixel-orchard", "Pixel Orchard", "Пиксельный сад", "A small game about growing trees.", "Маленькая игра о том, как растут деревья.", "49.90", 900),
		card("ink-and-iron", "Ink & Iron: Founder’s Edition", "Чернила и железо", "The calligraphy studio. Five licences, ever.", "Студия каллиграфии. Всего пять лицензий.", "12,900.00", 5),
		card("aurora-synth", "Aurora Synth 1.0", "Синтезатор «Аврора» 1.0", "The first edition. All copies have found a home.", "Первое издание. Все копии нашли владельцев.", "8,900.00", 0),
		card("slate-mug", "Slate Mug", "Кружка «Сланец»", "Stoneware, 350 ml.", "Керамика, 350 мл.", "1,290.00", 3),
	}
}

func lines(l i18n.Lang) []shop.Line {
	return []shop.Line{
		{ID: "gridline-studio", Kind: "license", Name: "Gridline Studio", Quantity: 2, Each: name(l, "RUB 4,990.00", "4 990,00 ₽"), Sum: name(l, "RUB 9,980.00", "9 980,00 ₽")},
		{ID: "slate-mug", Kind: "physical", Name: name(l, "Slate Mug", "Кружка «Сланец»"), Quantity: 1, Each: name(l, "RUB 1,290.00", "1 290,00 ₽"), Sum: name(l, "RUB 1,290.00", "1 290,00 ₽")},
	}
}

func totals(l i18n.Lang) shop.Totals {
	return shop.Totals{
		Subtotal: name(l, "RUB 11,270.00", "11 270,00 ₽"), Discount: name(l, "−RUB 1,127.00", "−1 127,00 ₽"), Promo: "WELCOME10",
		Delivery: name(l, "Free", "Бесплатно"), Total: name(l, "RUB 10,143.00", "10 143,00 ₽"),
	}
}

func shopPages(l i18n.Lang) []page {
	guest, person := guestPage(), shopPage()
	noticed := person
	noticed.Notice = layout.Notice{Text: i18n.In(l, "notice.added", products(l)[0].Name), Link: path.Cart(), Label: i18n.In(l, "notice.basket")}
	cart := shop.CartModel{Lines: lines(l), Totals: totals(l)}
	cart.Lines[1].Warnings = []string{name(l, "The price has changed, it was RUB 2,490.00", "Цена изменилась, была 2 490,00 ₽")}
	return []page{
		{name: "catalogue", body: shop.Catalogue(noticed, shop.CatalogueModel{Products: products(l), All: 9})},
		{name: "catalogue-none", body: shop.Catalogue(guest, shop.CatalogueModel{All: 9, Text: "x", Kind: "physical", InStock: true})},
		{name: "catalogue-empty", body: shop.Catalogue(guest, shop.CatalogueModel{})},
		{name: "product", body: shop.Product(guest, shop.ProductModel{ProductCard: products(l)[0], Description: []string{name(l, "Opens any file at once, saves as you type and never asks you to sign in again.", "Мгновенно открывает любой файл, сохраняет на лету и не просит входить снова.")}})},
		{name: "product-out", body: shop.Product(person, shop.ProductModel{ProductCard: products(l)[7]})},
		{name: "cart", body: shop.Cart(person, cart)},
		{name: "cart-empty", body: shop.Cart(guest, shop.CartModel{})},
		{name: "checkout", body: shop.Checkout(guest, checkout(l, shop.CheckoutForm{}))},
		{name: "checkout-delivery", body: shop.Checkout(person, checkout(l, shop.CheckoutForm{Delivery: true, Email: shop.Typed{Value: "ada@example.test"}}))},
		{name: "checkout-invalid", body: shop.Checkout(guest, checkout(l, shop.CheckoutForm{
			Email: shop.Typed{Value: "ada@", Error: name(l, "Enter an e-mail address like name@example.com", "Введите адрес вида name@example.com")},
			Name:  shop.Typed{Error: name(l, "Enter your name", "Введите имя")}, Promo: shop.Typed{Value: "WELCOME10"},
		}))},
		{name: "conflict-other", body: shop.OtherDetails(person, shop.OtherDetailsModel{OrderID: "o1", Rows: []shop.Difference{
			{Label: name(l, "E-mail", "Эл. почта"), Before: "a•••@example.test", After: "b•••@example.test"}, {Label: name(l, "Total", "Итого"), Before: totals(l).Total, After: totals(l).Total},
		}})},
		{name: "conflict-basket", body: shop.BasketChanged(person, shop.BasketChangedModel{
			Rows:   []shop.Difference{{Label: lines(l)[0].Name, Before: "× 2", After: "× 3"}, {Label: lines(l)[1].Name, Before: "× 1"}},
			Before: totals(l).Total, After: name(l, "RUB 13,473.00", "13 473,00 ₽"),
		})},
		{name: "conflict-open", body: shop.OpenOrder(person, shop.OpenOrderModel{OrderID: "o1", Number: "1042", PlacedAt: now, Total: totals(l).Total, Unknown: true, Key: "k"})},
		{name: "find-order", body: shop.FindOrder(guest, shop.FindOrderModel{OrderID: "o1"})},
		{name: "find-order-wrong", body: shop.FindOrder(guest, shop.FindOrderModel{OrderID: "o1", Email: shop.Typed{Value: "ada@example.test", Error: i18n.In(l, "find.wrong")}})},
		{name: "orders", body: shop.Orders(person, orders(l))},
		{name: "orders-empty", body: shop.Orders(guest, shop.OrdersModel{})},
		{name: "sign-in", body: shop.SignIn(guest, shop.SignInModel{})},
		{name: "sign-in-wrong", body: shop.SignIn(guest, shop.SignInModel{Email: shop.Typed{Value: "ada@example.test"}, Errors: []ui.FieldError{{Field: "email", Message: name(l, "E-mail or password is wrong", "Неверная почта или пароль")}}})},
		{name: "error-404", body: shop.Error(guest, shop.ErrorModel{Status: 404, Reference: trace})},
		{name: "error-410-ordered", body: shop.Error(guest, shop.ErrorModel{Status: 410, Money: shop.MoneyNone, OrderID: "o1", Detail: i18n.In(l, "error.410.ordered")})},
		{name: "error-410", body: shop.Error(guest, shop.ErrorModel{Status: 410, Money: shop.MoneyNone})},
		{name: "error-503", body: shop.Error(person, shop.ErrorModel{Status: 503, Money: shop.MoneyOnce, Reference: trace, Retry: path.Checkout("k")})},
	}
}

func checkout(l i18n.Lang, f shop.CheckoutForm) shop.CheckoutModel {
	return shop.CheckoutModel{Key: "0192f3a1-7c2e-7a40-9d11-5b2c8e1f9c4e", Basket: "b1", Total: "10143.00 RUB", Lines: lines(l), Totals: totals(l), Form: f}
}

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"

func orders(l i18n.Lang) shop.OrdersModel {
	var m shop.OrdersModel
	for i, s := range []string{"AWAITING_PAYMENT", "PAID", "FULFILLED", "CANCELED", "REFUNDED"} {
		m.Orders = append(m.Orders, shop.OrderRow{
			ID: "o" + s, Number: []string{"1042", "1038", "1027", "1019", "1003"}[i], PlacedAt: now.Add(-time.Duration(i*31) * time.Hour),
			Total: totals(l).Total, Status: s, Items: lines(l)[:1+i%2], Count: i + 1,
		})
	}
	m.Pager = ui.Pager{Older: path.Orders() + "?after=x"}
	return m
}
