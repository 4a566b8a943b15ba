package receiver

import (
	"io"
	"time"

	"golang.org/x/time/rate"

	"mailer/web/smtp/spool"
)

// intake bounds the bytes of mail that arrive per second from all peers. A message that was begun may exceed the rate,
// up to maxDebt seconds; new ones are refused meanwhile.
type intake struct {
	limiter *rate.Limiter
	rate    int64
}

const (
	burst   = 2 // seconds
	maxDebt = 4 // seconds
)

func newIntake(perSecond int64) *intake {
	return &intake{limiter: rate.NewLimiter(rate.Limit(perSecond), int(burst*perSecond)), rate: perSecond}
}

// open reports whether another message may begin.
func (i *intake) open() bool { return i.limiter.Tokens() > 0 }

// add counts bytes of a message. It reports whether more of the message may follow.
func (i *intake) add(n int) bool {
	for ; n > 0; n -= i.limiter.Burst() {
		i.limiter.ReserveN(time.Now(), min(n, i.limiter.Burst()))
	}
	return i.limiter.Tokens() > -maxDebt*float64(i.rate)
}

// counted is a message whose bytes count.
type counted struct {
	*spool.Message
	intake *intake
}

// Write implements io.Writer. It never fails.
func (c counted) Write(b []byte) (int, error) {
	if !c.Refused() && !c.intake.add(len(b)) {
		c.Refuse(errBusy)
	}
	return c.Message.Write(b)
}

var _ io.Writer = counted{}
