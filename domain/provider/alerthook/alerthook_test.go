package alerthook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/provider/alerthook"
)

func TestOnlyASuccessIsAReceipt(t *testing.T) {
	t.Parallel()
	status, got := http.StatusNoContent, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Header.Get("Alert-Id") + " " + r.Header.Get("Content-Type") + " " + string(body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer server.Close()
	p := alerthook.New(server.URL)
	require.NoError(t, p.Post(t.Context(), "7", map[string]string{"alarm": "x"}))
	require.Equal(t, `7 application/json {"alarm":"x"}`, got)
	for _, status = range []int{http.StatusFound, http.StatusBadRequest, http.StatusBadGateway} {
		require.Error(t, p.Post(t.Context(), "7", nil), status)
	}
	server.Close()
	require.Error(t, p.Post(t.Context(), "7", nil))
}
