// Package layout holds the two shells every page stands in: the shop's and the console's.
package layout

// Themes a person can choose; ThemeSystem follows the device.
const (
	ThemeSystem = "system"
	ThemeLight  = "light"
	ThemeDark   = "dark"
)

// Page is what every page of the shop needs to know about its visitor.
type Page struct {
	CSRF   string // token of every POST form
	Theme  string // "system", "light" or "dark"; empty means system
	Return string // address that language and theme forms come back to
	User   User   // zero for a guest
	Basket int    // items in the basket
	Notice Notice

	Currency   string   // prices are shown in it; empty offers no choice
	Currencies []string // to choose from
}

// User is who is signed in.
type User struct {
	Email string
	Role  string // "shopper", "viewer", "operator"…; only roles of the console see its link
}

// Console says whether the person may enter the console.
func (u User) Console() bool {
	switch u.Role {
	case "viewer", "support", "operator", "approver", "admin":
		return true
	default:
		return false
	}
}

// Notice is what the last action did, already translated; it is announced and shown once.
type Notice struct {
	Text  string
	Link  string // address; empty means no link
	Label string
	Undo  Undo
}

// Undo puts removed units of a product back into the basket; zero offers nothing.
type Undo struct{ Product, Quantity, CSRF string }

func theme(t string) string {
	if t == ThemeLight || t == ThemeDark {
		return t
	}
	return ThemeSystem
}

func themes() []string { return []string{ThemeSystem, ThemeLight, ThemeDark} }
