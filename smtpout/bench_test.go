package smtpout

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"mailer/app"
)

// sink is the cheapest relay there is, so that a benchmark measures the client.
func sink(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 64<<10)
	io.WriteString(c, "220 sink\r\n")
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		reply := "250 Ok\r\n"
		switch {
		case bytes.HasPrefix(line, []byte("EHLO")):
			reply = "250-sink\r\n250 8BITMIME\r\n"
		case bytes.HasPrefix(line, []byte("DATA")):
			io.WriteString(c, "354 go on\r\n")
			for !bytes.Equal(line, []byte(".\r\n")) {
				if line, err = in.ReadSlice('\n'); err != nil {
					return
				}
			}
		case bytes.HasPrefix(line, []byte("QUIT")):
			io.WriteString(c, "221 bye\r\n")
			return
		}
		io.WriteString(c, reply)
	}
}

func BenchmarkSend(b *testing.B) {
	for name, size := range map[string]int{"2KiB": 2 << 10, "20KiB": 20 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
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
					work.Go(func() { sink(c) })
				}
			})
			r, err := NewRelay(configFor(l), Options{})
			if err != nil {
				b.Fatal(err)
			}
			m := letter("a@example.net")
			m.Mail.Text = strings.Repeat(strings.Repeat("x", 70)+"\n", size/71)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if res := r.Send(b.Context(), m, agree); res.Kind != app.ResultDone {
						b.Error(summary(res))
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			r.Close()
			l.Close()
			work.Wait()
		})
	}
}
