package web

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/layout"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/alarm"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

const shownHistory = 50

// answersAlarms is the least role that may acknowledge and silence.
const answersAlarms = account.Operator

// consoleAlarms: GET /console/alarms?alarm=.
func (h *Handlers) consoleAlarms(c *fiber.Ctx) error {
	return h.alarmsPage(c, fiber.StatusOK, uuid.NewString(), nil)
}

func (h *Handlers) alarmsPage(c *fiber.Ctx, status int, press string, problems []ui.FieldError) error {
	p, _ := h.consolePage(c, "alarms")
	m := view.AlarmsModel{About: c.Query("alarm"), May: currentUser(c).Role.AtLeast(answersAlarms), Needed: string(answersAlarms), Press: press, Errors: problems}
	all, err := alarm.All(c.UserContext(), h.DB)
	if err != nil {
		return err
	}
	for i, f := range firingModels(all) {
		m.Names = append(m.Names, f.Name)
		m.Alarms = append(m.Alarms, view.Alarm{Firing: f, Fires: all[i].Firing, SilencedUntil: orZero(all[i].SilencedUntil)})
	}
	if m.About != "" && !slices.Contains(m.Names, m.About) {
		return badAddress(fault.Validation(fault.Field{Field: "alarm", Rule: "known", Message: "is no alarm"}))
	}
	history, err := alarm.History(c.UserContext(), h.DB, m.About, shownHistory)
	if err != nil {
		return err
	}
	m.History = happenedModels(history)
	m.LookedAt, err = alarm.RanAt(c.UserContext(), h.DB)
	m.Stale = h.Now().Sub(m.LookedAt) > staleAfter
	if err != nil {
		return err
	}
	return h.render(c, status, view.Alarms(p, m))
}

func happenedModels(list []alarm.Happened) (models []view.Happened) {
	for _, x := range list {
		value := layout.Firing{N: x.Count, ByCount: x.Unit == alarm.Count, Most: int(x.Limit)}
		if !value.ByCount {
			value.Age, value.Limit = seconds(x.Value), seconds(x.Limit)
		}
		models = append(models, view.Happened{
			ID: x.ID.String(), Alarm: x.Alarm, What: x.What, At: x.At, Value: value, User: x.User, Reason: x.Reason, Until: orZero(x.Until), Told: x.Told, Trying: x.Trying,
		})
	}
	return models
}

// consoleAlarmAnswer: POST /console/alarms/{name}/{acknowledge|silence}.
func (h *Handlers) consoleAlarmAnswer(c *fiber.Ctx) error {
	press := c.FormValue("press")
	if len(press) < 8 || len(press) > 100 {
		return badAddress(fault.Validation(fault.Field{Field: "press", Rule: "server", Message: "is not of this form"}))
	}
	length, err := time.ParseDuration(or(c.FormValue("for"), "0s"))
	if err != nil {
		return badAddress(fault.Validation(fault.Field{Field: "for", Rule: "duration", Message: "is no length of time"}))
	}
	what := operator.Name(c.Params("what"))
	if what != operator.Acknowledge && what != operator.Silence {
		return fault.Missing("answer")
	}
	c.Locals(localAudited, true)
	_, err = h.Operator.Press(c.UserContext(), operator.Press{
		Actor: currentUser(c), Action: what, Object: c.Params("name"), Key: press, Reason: c.FormValue("reason"),
		Input: operator.Input{For: length},
	})
	if e, ok := fault.Of(err); ok && (e.Code == "VALIDATION_FAILED" || e.Code == "SILENCE_TOO_LONG" || e.Code == "ACTION_UNSAFE") {
		problem := ui.FieldError{Message: i18n.T(h.speak(c), "alarms.error."+e.Code)}
		return h.alarmsPage(c, statusOf(e), uuid.NewString(), []ui.FieldError{problem})
	}
	if err != nil {
		return err
	}
	h.leaveNotice(c, "saved")
	return redirect(c, path.ConsoleAlarms())
}
