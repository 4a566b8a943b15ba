package schedule

import "time"

// What the tests of this package from outside reach into it for.

const MaxScheduleInput = maxScheduleInput

var ReadZone = readZone

var SummerTime = summerTime

const Week = week

func (x zone) Wall(a0 time.Time) time.Time { return x.wall(a0) }
