package schedule

import "time"

// What the external tests of this package need of its inside.

const (
	MaxScheduleInput = maxScheduleInput
	Week             = week
)

var (
	ReadZone   = readZone
	SummerTime = summerTime
)

func (z zone) Wall(t time.Time) time.Time { return z.wall(t) }
