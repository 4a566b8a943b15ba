package schedule

import "time"

// Unexported names for the external tests.

const (
	MaxScheduleInput = maxScheduleInput
	Week             = week
)

var (
	ReadZone   = readZone
	SummerTime = summerTime
)

func (z zone) Wall(t time.Time) time.Time { return z.wall(t) }
