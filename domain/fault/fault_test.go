package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
)

func TestOfFindsTheErrorInAChain(t *testing.T) {
	t.Parallel()
	inner := fault.New(fault.Conflict, "OUT_OF_STOCK", "None left.")
	found, ok := fault.Of(fmt.Errorf("place order: %w", inner))
	require.True(t, ok)
	require.Same(t, inner, found)
	require.Equal(t, fault.Conflict, fault.KindOf(errors.Join(errors.New("x"), inner)))

	_, ok = fault.Of(errors.New("foreign"))
	require.False(t, ok)
	require.Equal(t, fault.Internal, fault.KindOf(errors.New("foreign")))
	require.Equal(t, fault.Internal, fault.KindOf(nil))
}

func TestTheCauseIsForOperatorsOnly(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial 10.0.0.7")
	e := &fault.Error{Kind: fault.Unavailable, Code: "TEMPORARILY_UNAVAILABLE", Message: "Try again.", Err: cause}
	require.ErrorIs(t, e, cause)
	require.Contains(t, e.Error(), "10.0.0.7")
	require.NotContains(t, e.Message, "10.0.0.7")
	require.Equal(t, "X: y", fault.New(fault.Invalid, "X", "y").Error())
}

func TestValidationNamesEveryField(t *testing.T) {
	t.Parallel()
	e := fault.Validation(fault.Field{Field: "items[0].quantity", Rule: "max=99", Message: "is too many"})
	require.Equal(t, fault.Invalid, e.Kind)
	out, err := json.Marshal(e.Fields)
	require.NoError(t, err)
	require.JSONEq(t, `[{"field":"items[0].quantity","rule":"max=99","message":"is too many"}]`, string(out))
	require.Equal(t, fault.NotFound, fault.Missing("order").Kind)
}
