package sdktest

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// leadTo forwards connections of one address to another, once it listens.
func leadTo(t *testing.T, from, to string) {
	t.Helper()
	l, err := net.Listen("tcp", from)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed
			}
			go carry(in, to)
		}
	}()
}

func carry(in net.Conn, to string) {
	defer in.Close()
	for range 100 {
		out, err := net.Dial("tcp", to)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		defer out.Close()
		go func() {
			_, _ = io.Copy(out, in) // until either side ends
			out.Close()
		}()
		_, _ = io.Copy(in, out)
		return
	}
}

// TestSharedCertificates: the leader orders them; any server answers the authority's challenge and
// serves the certificate.
func TestSharedCertificates(t *testing.T) {
	part(t, "tls")
	t.Parallel()
	p, pg := newPebble(t), newPostgres(t)
	for way, tries := range map[string]int{"tls": 1, "http": 2} { // TLS is tried first
		t.Run("by "+way, func(t *testing.T) {
			pg.database(t, way)
			host, key := way+".acme.test", filepath.Join(t.TempDir(), "master.key")
			var ends [2]string
			var nodes [2]*instance
			for i := range nodes {
				ends[i] = freeAddr(t)
				plain := "none"
				if way == "http" && i == 1 {
					plain = freeAddr(t)
					leadTo(t, p.http, plain)
				}
				nodes[i] = p.instance(t, host, ends[i], plain, "--base-url", "https://"+host)
				nodes[i].db, nodes[i].flags = urlOf(way, pg.addr), []string{"--master-key-file", key}
			}
			if way == "tls" {
				leadTo(t, p.tls, ends[1])
			}
			orders := p.orders(t)
			for _, in := range nodes {
				in.serve(t)
			}
			certificate := p.awaitCertificate(t, ends[1], host, nil)
			works, err := p.certificate(ends[0], host)
			must(t, err)
			if works.SerialNumber.Cmp(certificate.SerialNumber) != 0 || p.orders(t) != orders+tries {
				t.Errorf("they show %v and %v after %d orders", works.SerialNumber, certificate.SerialNumber, p.orders(t)-orders)
			}
			for i, in := range nodes {
				if has := bytes.Contains(in.log(t), []byte("has a certificate")); has != (i == 0) {
					t.Errorf("server %d ordered one: %v\n%s", i, has, in.log(t))
				}
			}
		})
	}
}
