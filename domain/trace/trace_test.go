package trace_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/trace"
)

const id = "0af7651916cd43dd8448eb211c80319c"

func TestStartContinuesATraceOrBeginsOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, id, trace.ID(trace.Start(t.Context(), "00-"+id+"-b7ad6b7169203331-01")))
	for _, bad := range []string{"", "x", "00-" + id, "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-" + id + "-b7ad6b7169203331-01\nX: y"} {
		one, two := trace.Start(t.Context(), bad), trace.Start(t.Context(), bad)
		require.Regexp(t, `^[0-9a-f]{32}$`, trace.ID(one))
		require.NotEqual(t, trace.ID(one), trace.ID(two), bad)
	}
}

func TestResumeAndParent(t *testing.T) {
	t.Parallel()
	ctx := trace.Resume(t.Context(), id)
	require.Equal(t, id, trace.ID(ctx))
	require.Regexp(t, `^00-`+id+`-[0-9a-f]{16}-01$`, trace.Parent(ctx))
	require.Equal(t, id, trace.ID(trace.Start(t.Context(), trace.Parent(ctx))))
	require.NotEqual(t, "not hex", trace.ID(trace.Resume(t.Context(), "not hex")))
	require.Equal(t, "00000000000000000000000000000000", trace.ID(context.Background()))
}

func TestAttrsBranchWithoutTouchingEachOther(t *testing.T) {
	t.Parallel()
	require.Empty(t, trace.Attrs(context.Background()))
	base := trace.With(trace.Resume(t.Context(), id), slog.String("operation_id", "o"))
	left, right := trace.With(base, slog.String("order_id", "l")), trace.With(base, slog.String("order_id", "r"))
	want := []slog.Attr{slog.String("trace_id", id), slog.String("operation_id", "o")}
	require.Equal(t, want, trace.Attrs(base))
	require.Equal(t, append(want[:2:2], slog.String("order_id", "l")), trace.Attrs(left))
	require.Equal(t, append(want[:2:2], slog.String("order_id", "r")), trace.Attrs(right))
}
