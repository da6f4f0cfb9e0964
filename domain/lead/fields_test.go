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

func TestFieldsOfAnEnquiryAreHashed(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	r := &operation.Runner{DB: db, Retention: time.Hour, Wait: time.Second}
	user := uuid.New()
	out, err := lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: "Ann", Email: "ann@example.com", Message: "Do you ship?"})
	require.NoError(t, err)
	_, err = lead.Create(t.Context(), r, user, "k", lead.Enquiry{Name: "Ann", Email: "ann@example.com", Message: "Call 555-0100"})
	require.Equal(t, fault.KeyReused, fault.KindOf(err))

	var fields map[string]string
	require.NoError(t, db.QueryRow(t.Context(), `SELECT request_fields FROM operations WHERE id = $1`, out.ID).Scan(&fields))
	require.Len(t, fields, 3)
	for path, value := range fields {
		require.Regexp(t, `^sha256:[0-9a-f]{8}$`, value, path)
	}
	var differs []operation.Difference
	require.NoError(t, db.QueryRow(t.Context(), `SELECT detail -> 'differs' FROM journal WHERE kind = 'operation.key_reused'`).Scan(&differs))
	require.Len(t, differs, 1)
	require.Equal(t, "message", differs[0].Field)
	require.Equal(t, fields["message"], differs[0].First)
	require.Regexp(t, `^sha256:[0-9a-f]{8}$`, differs[0].Later)
}
