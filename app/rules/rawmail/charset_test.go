package rawmail

import (
	"encoding/base64"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

func TestCharsets(t *testing.T) {
	for charset, text := range map[string]string{
		"iso-2022-jp": "日本語のメール", "Shift_JIS": "日本語のメール", "EUC-JP": "日本語のメール", "gb2312": "中文邮件", "GBK": "中文邮件", "gb18030": "中文邮件 €", "big5": "中文郵件",
		"euc-kr": "한국어", "ks_c_5601-1987": "한국어", "koi8-r": "Привет", "KOI8-U": "Привіт", "windows-1251": "Привет", "iso-8859-5": "Привет", "iso-8859-2": "Zażółć gęślą",
		"windows-1250": "Žluťoučký kůň", "iso-8859-7": "Καλημέρα", "windows-1253": "Καλημέρα", "iso-8859-9": "günaydın", "windows-1254": "günaydın ş", "windows-1255": "שלום", "windows-1256": "مرحبا",
		"windows-1257": "ąčęė", "windows-1258": "đ", "tis-620": "สวัสดี", "utf-16le": "Grüße",
	} {
		set, err := htmlindex.Get(charset)
		if err != nil {
			t.Fatal(err)
		}
		content, err := set.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", charset, err)
		}
		if got := shown(content, charset); got != text {
			t.Errorf("%s: %q, want %q", charset, got, text)
		}
		if got := Decoded("=?"+charset+"?B?"+base64.StdEncoding.EncodeToString(content)+"?=", 1000); got != text {
			t.Errorf("a word in %s: %q, want %q", charset, got, text)
		}
	}
	for charset, want := range map[string]string{"utf-8": "a\ufffdb", "x-unknown": "a\ufffdb", "iso-2022-kr": "a\ufffdb"} {
		if got := shown([]byte("a\xffb"), charset); got != want {
			t.Errorf("%s: %q, want %q", charset, got, want)
		}
	}
}
