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
	return layout.Page{CSRF: "csrf-token", Return: path.Home(), Basket: 3, User: layout.User{Email: "ada@example.test", Role: "operator"}}
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
	return []shop.ProductCard{
		{ID: "editor-pro", Kind: "license", Name: name(l, "Quill Editor Pro", "Редактор Quill Pro"), Blurb: name(l, "A calm editor for long texts. One seat, for ever.", "Спокойный редактор для длинных текстов. Одно рабочее место, навсегда."), Price: name(l, "RUB 4,990.00", "4 990,00 ₽"), Stock: 240},
		{ID: "photo-lab", Kind: "license", Name: name(l, "Photo Lab", "Фотолаборатория"), Blurb: name(l, "Raw development without a subscription.", "Проявка RAW без подписки."), Price: name(l, "RUB 7,490.00", "7 490,00 ₽"), Stock: 80},
		{ID: "mug-slate", Kind: "physical", Name: name(l, "Slate Mug", "Кружка «Сланец»"), Blurb: name(l, "Stoneware, 350 ml, dishwasher safe.", "Керамика, 350 мл, можно в посудомойку."), Price: name(l, "RUB 1,290.00", "1 290,00 ₽"), Stock: 3},
		{ID: "grid-notebook", Kind: "physical", Name: name(l, "Grid Notebook", "Тетрадь в клетку"), Blurb: name(l, "192 pages that lie flat.", "192 страницы, раскрываются полностью."), Price: name(l, "RUB 890.00", "890,00 ₽"), Stock: 64},
		{ID: "sound-kit", Kind: "license", Name: name(l, "Sound Kit", "Звуковой набор"), Blurb: name(l, "Eleven instruments for your DAW.", "Одиннадцать инструментов для DAW."), Price: name(l, "RUB 3,190.00", "3 190,00 ₽"), Stock: 0},
		{ID: "desk-lamp", Kind: "physical", Name: name(l, "Desk Lamp", "Настольная лампа"), Blurb: name(l, "Warm light, one knob.", "Тёплый свет, одна ручка."), Price: name(l, "RUB 5,600.00", "5 600,00 ₽"), Stock: 12},
		{ID: "cloud-backup", Kind: "license", Name: name(l, "Steady Backup", "Бэкап «Стабильный»"), Blurb: name(l, "Versioned copies of what matters.", "Копии важного с историей версий."), Price: name(l, "RUB 2,490.00", "2 490,00 ₽"), Stock: 500},
		{ID: "tide-poster", Kind: "physical", Name: name(l, "Tide Poster", "Постер «Прилив»"), Blurb: name(l, "50 × 70 cm, heavy matte paper.", "50 × 70 см, плотная матовая бумага."), Price: name(l, "RUB 1,990.00", "1 990,00 ₽"), Stock: 21},
		{ID: "chart-kit", Kind: "license", Name: name(l, "Chart Kit", "Набор диаграмм"), Blurb: name(l, "Sixty honest charts for reports.", "Шестьдесят честных диаграмм для отчётов."), Price: name(l, "RUB 1,790.00", "1 790,00 ₽"), Stock: 99},
	}
}

func lines(l i18n.Lang) []shop.Line {
	return []shop.Line{
		{ID: "editor-pro", Kind: "license", Name: name(l, "Quill Editor Pro", "Редактор Quill Pro"), Quantity: 2, Each: name(l, "RUB 4,990.00", "4 990,00 ₽"), Sum: name(l, "RUB 9,980.00", "9 980,00 ₽")},
		{ID: "mug-slate", Kind: "physical", Name: name(l, "Slate Mug", "Кружка «Сланец»"), Quantity: 1, Each: name(l, "RUB 1,290.00", "1 290,00 ₽"), Sum: name(l, "RUB 1,290.00", "1 290,00 ₽")},
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
	cart.Lines[1].Warning = name(l, "The price has changed since you added it", "Цена изменилась с момента добавления")
	return []page{
		{name: "catalogue", body: shop.Catalogue(noticed, shop.CatalogueModel{Products: products(l)})},
		{name: "catalogue-empty", body: shop.Catalogue(guest, shop.CatalogueModel{})},
		{name: "product", body: shop.Product(guest, shop.ProductModel{ProductCard: products(l)[0], Description: []string{name(l, "Opens any file at once, saves as you type and never asks you to sign in again.", "Мгновенно открывает любой файл, сохраняет на лету и не просит входить снова.")}})},
		{name: "product-out", body: shop.Product(person, shop.ProductModel{ProductCard: products(l)[4]})},
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
		{name: "orders", body: shop.Orders(person, orders(l))},
		{name: "orders-empty", body: shop.Orders(guest, shop.OrdersModel{})},
		{name: "sign-in", body: shop.SignIn(guest, shop.SignInModel{})},
		{name: "sign-in-wrong", body: shop.SignIn(guest, shop.SignInModel{Email: shop.Typed{Value: "ada@example.test"}, Errors: []ui.FieldError{{Field: "email", Message: name(l, "E-mail or password is wrong", "Неверная почта или пароль")}}})},
		{name: "error-404", body: shop.Error(guest, shop.ErrorModel{Status: 404, Reference: trace})},
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
