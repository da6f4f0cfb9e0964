package operation_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/operation"
)

// Parts that only differ in where one ends and the next begins are different identities.
func TestIdentitiesWithShiftedPartsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[operation.ID]operation.Identity{}
	for _, id := range []operation.Identity{
		{Type: "A", Target: "B", Key: "C"},
		{Type: "AB", Target: "", Key: "C"},
		{Type: "A", Target: "", Key: "BC"},
		{Type: "", Target: "AB", Key: "C"},
		{Type: "", Target: "", Key: "ABC"},
		{Type: "ABC"},
		{Target: "ABC"},
		{Type: "A", Target: "\x00\x00\x00\x01B", Key: "C"},
		{Type: "A", Target: "B", Key: "C", User: operation.System},
	} {
		other, taken := seen[id.ID()]
		require.False(t, taken, "%v and %v", id, other)
		seen[id.ID()] = id
	}
}

func TestEqualIDsMeanEqualIdentities(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) operation.Identity {
			part := rapid.StringMatching(`[ab\x00]{0,3}`)
			return operation.Identity{
				User: uuid.UUID{15: rapid.ByteRange(0, 1).Draw(t, name+"user")}, Type: operation.Type(part.Draw(t, name+"type")),
				Target: part.Draw(t, name+"target"), Key: part.Draw(t, name+"key"),
			}
		}
		a, b := draw("a"), draw("b")
		require.Equal(t, a == b, a.ID() == b.ID())
	})
}

func TestFingerprintIsVersioned(t *testing.T) {
	t.Parallel()
	command := struct{ A string }{"x"}
	one, err := operation.Fingerprint(1, command)
	require.NoError(t, err)
	again, err := operation.Fingerprint(1, command)
	require.NoError(t, err)
	require.Equal(t, one, again)
	two, err := operation.Fingerprint(2, command)
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	require.Regexp(t, `^v1:[0-9a-f]{64}$`, one)
	_, err = operation.Fingerprint(1, func() {})
	require.Error(t, err)
}
