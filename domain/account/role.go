package account

import (
	"slices"

	"onefold/domain/fault"
)

// Role says what a user may do. Each role includes those before it: guest < shopper < viewer < support < operator <
// approver < admin.
type Role string

// The roles, from the least to the most.
const (
	Guest    Role = "guest"    // fills a basket and buys, cannot sign in
	Shopper  Role = "shopper"  // buys with an account
	Viewer   Role = "viewer"   // reads the console
	Support  Role = "support"  // reads it and repeats what is safe to repeat
	Operator Role = "operator" // moves money and state
	Approver Role = "approver" // second pair of eyes above the limit
	Admin    Role = "admin"    // everything
)

func ranking() []Role { return []Role{Guest, Shopper, Viewer, Support, Operator, Approver, Admin} }

// AtLeast reports whether r includes the rights of floor. A role outside the order (the system's own) includes nothing and
// is included in nothing.
func (r Role) AtLeast(floor Role) bool {
	have, need := slices.Index(ranking(), r), slices.Index(ranking(), floor)
	return need >= 0 && have >= need
}

// Staff reports whether r may enter the console: its sessions are shorter.
func (r Role) Staff() bool { return r.AtLeast(Viewer) }

// FieldRole names the field of a refusal that says which role would do.
const FieldRole = "role"

// Needs is the refusal of somebody whose role is below floor: FORBIDDEN, with the role that would do.
func Needs(floor Role) *fault.Error {
	e := fault.New(fault.Forbidden, "FORBIDDEN", "This needs the role "+string(floor)+" or a higher one.")
	e.Fields = []fault.Field{{Field: FieldRole, Rule: string(floor), Message: "is not enough"}}
	return e
}
