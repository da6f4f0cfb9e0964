package providertest

import "testing"

// Run proves that an adapter keeps the port's promises. setup is called for every subtest.
func Run(t *testing.T, setup func(t *testing.T) Harness) {
	t.Helper()
	cases := map[string]func(*testing.T, Harness){
		"create":                  create,
		"create/replay":           createReplay,
		"create/other_inputs":     createOtherInputs,
		"create/other_key":        createOtherKey,
		"create/parallel":         createParallel,
		"create/dropped":          createLost(Drop),
		"create/error_after":      createLost(Broken),
		"create/garbage":          createLost(Garbage),
		"create/hangs":            createLost(Hang),
		"create/error_before":     createRefused,
		"create/rejected":         createRejected,
		"create/rate_limited":     createNothing(Limited),
		"create/in_progress":      createNothing(Busy),
		"create/denied":           createNothing(Denied),
		"create/not_sent":         createNotSent,
		"create/caller_gone":      createCallerGone,
		"get":                     get,
		"get/fails":               getFails,
		"find/nothing":            findNothing,
		"find/vanished":           findVanished,
		"cancel":                  cancel,
		"cancel/paid":             cancelPaid,
		"cancel/dropped":          cancelDropped,
		"refund":                  refund,
		"refund/partial_and_over": refundPartial,
		"refund/unpaid":           refundUnpaid,
		"refund/dropped":          refundLost,
		"refund/other_inputs":     refundOtherInputs,
		"shipment":                shipment,
		"shipment/dropped":        shipmentLost,
		"shipment/rejected":       shipmentRejected,
		"signature":               signature,
		"signature/time":          signatureTime,
		"signature/body":          signatureBody,
		"translate":               translate,
		"translate/nonsense":      translateNonsense,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			if why, skip := h.Skip[name]; skip {
				t.Skip(why)
			}
			check(t, h)
		})
	}
}
