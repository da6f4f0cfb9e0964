package ui

// Field is one input with what was typed and what is wrong with it.
type Field struct {
	Name         string // form name and element id
	Label        string // already translated
	Hint         string
	Value        string // as typed, never corrected
	Error        string // already translated; empty when fine
	Type         string // input type; "text" when empty
	Autocomplete string
	InputMode    string
	Optional     bool
	Wide         bool     // spans the whole row of a field grid
	Options      []Option // makes it a choice of these; the first one is for "nothing chosen"
}

// Option is one choice.
type Option struct{ Value, Label string }

func (f Field) kind() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

// describedBy lists the ids of hint and error, in reading order.
func (f Field) describedBy() string {
	switch {
	case f.Hint != "" && f.Error != "":
		return f.Name + "-hint " + f.Name + "-error"
	case f.Hint != "":
		return f.Name + "-hint"
	case f.Error != "":
		return f.Name + "-error"
	default:
		return ""
	}
}

// FieldError points from the error summary to a field.
type FieldError struct {
	Field   string // element id; empty for an error about the whole form
	Message string // already translated
}

// Problems collects the errors of fields, in their order.
func Problems(fields ...Field) []FieldError {
	var list []FieldError
	for _, f := range fields {
		if f.Error != "" {
			list = append(list, FieldError{Field: f.Name, Message: f.Error})
		}
	}
	return list
}

// Hidden is a value a form carries without showing it.
type Hidden struct{ Name, Value string }
