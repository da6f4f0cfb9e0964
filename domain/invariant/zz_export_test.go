package invariant

func Arguments() map[string]any { return Config{Sweep: 3600e9}.arguments() }
