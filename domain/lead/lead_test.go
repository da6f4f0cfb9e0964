package lead_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
	"onefold/domain/lead"
	"onefold/domain/operation"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestEnquiryIsTakenOnce(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	r := &operation.Runner{DB: db, Retention: time.Hour, Wait: time.Second}
	user := uuid.New()
	first, err := lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: "Ann", Email: "ann@example.com", Message: "Do you ship?"})
	require.NoError(t, err)
	again, err := lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: " Ann ", Email: "ANN@example.com", Message: "Do  you ship? "})
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.Result.Body, again.Result.Body)

	_, err = lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: "Ann", Email: "ann@example.com", Message: "Do you ship to Mars?"})
	require.Equal(t, fault.KeyReused, fault.KindOf(err))
	var n int
	require.NoError(t, db.QueryRow(t.Context(), `SELECT count(*) FROM leads`).Scan(&n))
	require.Equal(t, 1, n)
}

func TestBrokenEnquiryBindsNothing(t *testing.T) {
	t.Parallel()
	r := &operation.Runner{DB: storetest.DB(t), Retention: time.Hour, Wait: time.Second}
	user := uuid.New()
	_, err := lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: "A\x00", Email: "nobody", Message: " "})
	e, ok := fault.Of(err)
	require.True(t, ok)
	require.Len(t, e.Fields, 3)
	_, err = lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: "Ann", Email: "ann@example.com", Message: "Hello"})
	require.NoError(t, err)
}
