package smtpout

import (
	"bufio"
	"bytes"
	"crypto"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// sink is a minimal relay, so that a benchmark measures the client. It writes its replies when it
// has read all available commands.
func sink(c net.Conn, ehlo string) {
	defer c.Close()
	in, out := bufio.NewReaderSize(c, 64<<10), bufio.NewWriter(c)
	out.WriteString("220 sink\r\n")
	for {
		if in.Buffered() == 0 {
			out.Flush()
		}
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		reply := "250 Ok\r\n"
		switch {
		case bytes.HasPrefix(line, []byte("EHLO")):
			reply = "250-sink\r\n250 " + ehlo + "\r\n"
		case bytes.HasPrefix(line, []byte("DATA")):
			out.WriteString("354 go on\r\n")
			out.Flush()
			for !bytes.Equal(line, []byte(".\r\n")) {
				if line, err = in.ReadSlice('\n'); err != nil {
					return
				}
			}
		case bytes.HasPrefix(line, []byte("QUIT")):
			out.WriteString("221 bye\r\n")
			out.Flush()
			return
		}
		out.WriteString(reply)
	}
}

// benchRelay returns a client of a sink. Both are closed at the end.
func benchRelay(b *testing.B, ehlo string, sign bool) *Relay {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { sink(c, ehlo) })
		}
	})
	cfg := configFor(l)
	cfg.DKIM = sign
	r, err := NewRelay(cfg, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		r.Close()
		l.Close()
		work.Wait()
	})
	return r
}

// sendMany also measures the CPU time per message, including the sink's.
func sendMany(b *testing.B, r *Relay, m *app.Outgoing) {
	b.ReportAllocs()
	b.SetParallelism(4)
	before := processorTime()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if res := r.Send(b.Context(), m, authorizeAll); res.Kind != app.ResultDone {
				b.Error(summary(res))
				return
			}
		}
	})
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-us/msg")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkSend(b *testing.B) {
	for name, size := range map[string]int{"2KiB": 2 << 10, "20KiB": 20 << 10, "1MiB": 1 << 20} {
		for _, ehlo := range []string{"8BITMIME", "PIPELINING"} {
			b.Run(name+"/"+ehlo, func(b *testing.B) {
				m := testMessage("a@example.net")
				m.Mail.Text = strings.Repeat(strings.Repeat("x", 70)+"\n", size/71)
				b.SetBytes(int64(size))
				sendMany(b, benchRelay(b, ehlo, false), m)
			})
		}
	}
}

// BenchmarkSendMail sends an ordinary HTML mail of 5 KB.
func BenchmarkSendMail(b *testing.B) {
	for _, signed := range []bool{false, true} {
		for _, ehlo := range []string{"8BITMIME", "PIPELINING"} {
			b.Run(fmt.Sprintf("signed=%v/%s", signed, ehlo), func(b *testing.B) {
				m := benchmarkMail(b)
				m.EnvelopeFrom, m.Recipients = "hi@acme.test", []string{"ann@example.org"}
				if signed {
					m.DKIM, _ = testKey(b)
				}
				sendMany(b, benchRelay(b, ehlo, signed), m)
			})
		}
	}
}

// noopSigner signs at no cost, so that a benchmark measures everything else.
type noopSigner struct{ crypto.Signer }

func (noopSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, 256), nil
}

// BenchmarkBuild composes and signs a mail without RSA. It reports CPU time, which says more than
// wall time on a busy machine.
func BenchmarkBuild(b *testing.B) {
	mails := map[string]*app.Outgoing{"html": benchmarkMail(b)}
	s, m := testSealer(b), compiled(b, newsletter(true))
	mails["broadcast"] = toRecipient(s, m, 7, "ann@example.org", map[string]string{"first_name": "Ann"})
	plain := testMessage("ann@example.org")
	plain.Mail.Text = strings.Repeat(strings.Repeat("x", 70)+"\n", 60)
	mails["7bit"] = plain
	for name, m := range mails {
		for _, signed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/signed=%v", name, signed), func(b *testing.B) {
				key, _ := testKey(b)
				key.Signer = noopSigner{key.Signer}
				m.DKIM = key
				builder := newBuilder(Options{}, signed, relayurl.ProfileGeneric)
				b.ReportAllocs()
				before := processorTime()
				for b.Loop() {
					built, bad := builder.build(b.Context(), m)
					if bad != nil {
						b.Fatal(summary(*bad))
					}
					builder.release(built)
				}
				b.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(b.N)/1000, "cpu-us/op")
			})
		}
	}
}
