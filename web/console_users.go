package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/domain/account"
	"onefold/domain/operator"
)

// consoleUsers: GET /console/users. Roles are changed by the command line only, where the change is on the record of the machine.
func (h *Handlers) consoleUsers(c *fiber.Ctx) error {
	people, err := account.Staff(c.UserContext(), h.DB)
	if err != nil {
		return err
	}
	p, _ := h.consolePage(c, "users")
	m := view.UsersModel{Rights: rights()}
	for _, r := range staffRoles() {
		m.Roles = append(m.Roles, string(r))
	}
	for _, x := range people {
		m.People = append(m.People, view.Person{
			Email: x.Email, Role: string(x.Role), LastSeen: orZero(x.LastSeen), Sessions: x.Sessions, Self: x.ID == currentUser(c).ID,
		})
	}
	return h.render(c, fiber.StatusOK, view.Users(p, m))
}

func staffRoles() []account.Role {
	return []account.Role{account.Viewer, account.Support, account.Operator, account.Approver, account.Admin}
}

// rights are what each role may do: reading, every action of the domain's own table, and what isn't an action.
func rights() (list []view.Right) {
	add := func(name string, floor account.Role) {
		r := view.Right{Name: name}
		for _, role := range staffRoles() {
			r.May = append(r.May, role.AtLeast(floor))
		}
		list = append(list, r)
	}
	add("read", account.Viewer)
	add("prefs", account.Viewer)
	for _, k := range operator.Kinds() {
		add(strings.ToLower(string(k.Name)), k.Role)
	}
	add("drills", runsDrills)
	add("jobs_read", account.Operator)
	add("jobs_change", account.Admin)
	return list
}
