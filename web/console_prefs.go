package web

import (
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/fault"
)

// consolePrefs: GET /console/prefs.
func (h *Handlers) consolePrefs(c *fiber.Ctx) error {
	return h.prefsPage(c, fiber.StatusOK, preferences(c), nil)
}

func (h *Handlers) prefsPage(c *fiber.Ctx, status int, wanted account.Preferences, problems []ui.FieldError) error {
	p, _ := h.consolePage(c, "prefs")
	p.Notice = h.takeNotice(c)
	values := account.PreferenceValues()
	choice := func(name, value string, also ...string) view.Choice {
		return view.Choice{Name: name, Value: value, Values: append(also, values[name]...)}
	}
	return h.render(c, status, view.Prefs(p, view.PrefsModel{
		Choices: []view.Choice{
			choice("lang", wanted.Lang, ""), choice("theme", or(wanted.Theme, "system")), choice("density", or(wanted.Density, "compact")),
			choice("clock", or(wanted.Clock, "24")), choice("refresh", or(wanted.Refresh, defaultRefresh)), choice("keys", or(wanted.Keys, "on")),
		},
		Zone: wanted.Zone, Zones: zones(), Errors: problems,
	}))
}

// zones are suggestions; any name of the IANA database will do.
func zones() []string {
	return []string{
		"UTC", "Europe/London", "Europe/Berlin", "Europe/Moscow", "Europe/Samara", "Asia/Yekaterinburg", "Asia/Almaty", "Asia/Novosibirsk", "Asia/Dubai",
		"Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "America/Sao_Paulo", "America/New_York", "America/Chicago", "America/Los_Angeles",
	}
}

// consolePrefsSave: POST /console/prefs changes the fields that the form names and leaves the others.
func (h *Handlers) consolePrefsSave(c *fiber.Ctx) error {
	c.Locals(localAudited, true) // what somebody likes isn't told, nor what is mistyped
	changes := map[string]string{}
	for _, name := range []string{"lang", "zone", "clock", "density", "theme", "refresh", "keys"} {
		if args := c.Request().PostArgs(); args.Has(name) {
			changes[name] = c.FormValue(name)
		}
	}
	err := account.Prefer(c.UserContext(), h.DB, currentUser(c).ID, changes)
	if e, ok := fault.Of(err); ok && e.Code == "VALIDATION_FAILED" {
		wanted := preferences(c)
		problem := ui.FieldError{Field: e.Fields[0].Field, Message: i18n.T(h.speak(c), "prefs.error", i18n.T(h.speak(c), "prefs."+e.Fields[0].Field), e.Fields[0].Message)}
		wanted.Zone = changes["zone"]
		return h.prefsPage(c, statusOf(e), wanted, []ui.FieldError{problem})
	}
	if err != nil {
		return err
	}
	h.rememberPrefs(c, changes)
	if c.FormValue("said") != "" {
		h.leaveNotice(c, "saved")
	}
	return back(c, c.FormValue("return"), path.ConsolePrefs())
}

// rememberPrefs keeps in cookies what pages before the sign-in need, too.
func (h *Handlers) rememberPrefs(c *fiber.Ctx, changes map[string]string) {
	if changes["lang"] != "" {
		h.keepPref(c, cookieLang, changes["lang"])
	}
	if changes["theme"] != "" {
		h.keepPref(c, cookieTheme, changes["theme"])
	}
}

// consoleViews: GET /console/views.
func (h *Handlers) consoleViews(c *fiber.Ctx) error {
	p, _ := h.consolePage(c, "views")
	p.Notice = h.takeNotice(c)
	views, err := account.Views(c.UserContext(), h.DB, currentUser(c).ID)
	if err != nil {
		return err
	}
	var m view.ViewsModel
	for _, v := range views {
		m.Views = append(m.Views, view.SavedView{ID: v.ID.String(), Name: v.Name, Address: v.Address, Owner: account.MaskEmail(v.Owner), Shared: v.Shared, Mine: v.Mine})
	}
	return h.render(c, fiber.StatusOK, view.Views(p, m))
}

// consoleViewSave: POST /console/views; the same name again replaces the view.
func (h *Handlers) consoleViewSave(c *fiber.Ctx) error {
	address := c.FormValue("address")
	err := h.Operator.SaveView(c.UserContext(), currentUser(c), c.FormValue("name"), address, c.FormValue("shared") == "true")
	if err != nil {
		return badAddress(err)
	}
	return back(c, address, path.ConsoleViews())
}

// consoleViewRemove: POST /console/views/{id}/remove.
func (h *Handlers) consoleViewRemove(c *fiber.Ctx) error {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return fault.Missing("view")
	}
	if err := h.Operator.RemoveView(c.UserContext(), currentUser(c), id); err != nil {
		return err
	}
	return redirect(c, path.ConsoleViews())
}
