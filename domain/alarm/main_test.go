package alarm_test

import (
	"testing"

	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
