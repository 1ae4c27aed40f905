package keyrail

import (
	"context"
	"math/big"
	"math/rand"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// servingNetworks is a node whose tenant has these networks; key 1 has none of its own, key 2 has 10.0.0.0/8, and
// key 3 an empty list.
func servingNetworks(t testing.TB, ofTenant any) (*Keys, *[]string) {
	service := startService(t)
	k, _, said := openNode(t, service, nil)
	body := snapshotOf(7, feedKey(1, nil), feedKey(2, map[string]any{"allowed_cidrs": []string{"10.0.0.0/8"}}),
		feedKey(3, map[string]any{"allowed_cidrs": []string{}}))
	tenant := map[string]any{"tenant_id": testTenant}
	if ofTenant != nil {
		tenant["allowed_cidrs"] = ofTenant
	}
	body["tenants"] = []any{tenant}
	service.answerJSON(snapshotPath, 200, body)
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	return k, said
}

func from(ip string) Requirements { return Requirements{IP: ip} }

func TestAKeyHasItsOwnNetworksOrThoseOfItsTenant(t *testing.T) {
	k, _ := servingNetworks(t, []string{"2001:db8::/32"})
	for _, each := range []struct {
		number int
		ip     string
		want   Code
	}{
		{1, "2001:db8::1", Valid}, {1, "10.1.2.3", IPNotAllowed}, {1, "", IPUnknown}, {1, "localhost", IPUnknown},
		{2, "10.1.2.3", Valid}, {2, "2001:db8::1", IPNotAllowed}, {2, "", IPUnknown},
		{3, "2001:db8::1", Valid}, {3, "", Valid}, {3, "localhost", Valid},
	} {
		wantCode(t, k, liveKey(each.number), from(each.ip), each.want)
	}
	scoped := Requirements{Scopes: []string{"admin"}}
	wantCode(t, k, liveKey(2), scoped, IPUnknown)
	scoped.IP = "10.0.0.1"
	wantCode(t, k, liveKey(2), scoped, InsufficientScope)
	if IPUnknown.Status() != 403 || IPNotAllowed.Status() != 403 {
		t.Error("an address is refused with another status than 403")
	}
}

func TestWithoutNetworksNoAddressIsRead(t *testing.T) {
	k, _ := servingNetworks(t, nil)
	wantCode(t, k, liveKey(1), from("no address"), Valid)
	if len(k.served.store.tenantNetworks) != 0 || len(k.served.store.keyNetworks) != 2 {
		t.Error("a list is held that nobody has")
	}
}

func TestAnUnreadableListOfATenantRefusesItsKeysFromAnyAddress(t *testing.T) {
	for _, list := range []any{"10.0.0.0/8", []any{7}, []string{"10.0.0.1/8"}, []string{"10.0.0.0"}, map[string]any{}} {
		k, said := servingNetworks(t, list)
		if len(*said) != 1 || (*said)[0] != "unreadable_key" {
			t.Errorf("%v: reported %v", list, *said)
		}
		wantCode(t, k, liveKey(1), from("10.0.0.1"), IPNotAllowed)
		wantCode(t, k, liveKey(1), from(""), IPNotAllowed)
		wantCode(t, k, liveKey(2), from("10.0.0.1"), Valid)
		wantCode(t, k, liveKey(3), from("10.0.0.1"), Valid)
	}
}

func TestAnAddressIsComparedWithoutAllocating(t *testing.T) {
	k, _ := servingNetworks(t, []string{"2001:db8::/32"})
	key, key2, own, foreign := liveKey(1), liveKey(2), from("2001:db8::1"), from("::ffff:10.1.2.3")
	if count := testing.AllocsPerRun(100, func() {
		k.Verify(key, own)
		k.Verify(key, foreign)
		k.Verify(key2, foreign)
	}); count != 0 {
		t.Errorf("three verifications allocate %v times", count)
	}
}

func TestProtectKnowsThePeerAndBelievesNoHeader(t *testing.T) {
	k, _ := servingNetworks(t, []string{"192.0.2.0/24", "fe80::/10"})
	behindProxy := ClientIP(func(r *http.Request) string { return r.Header.Get("X-Real-Ip") })
	for _, each := range []struct {
		peer, header string
		options      []ProtectOption
		want         Code
	}{
		{"192.0.2.7:4711", "10.0.0.1", nil, ""}, {"[::ffff:192.0.2.7]:4711", "", nil, ""}, {"[fe80::1%eth0]:4711", "", nil, ""},
		{"10.0.0.1:4711", "192.0.2.7", nil, IPNotAllowed}, {"@", "192.0.2.7", nil, IPUnknown}, {"", "192.0.2.7", nil, IPUnknown},
		{"10.0.0.1:4711", "192.0.2.7", []ProtectOption{behindProxy}, ""},
		{"192.0.2.7:4711", "", []ProtectOption{behindProxy}, IPUnknown},
	} {
		reached := false
		route := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })
		answer := askedFrom(each.peer, k.Protect(route, each.options...), "Authorization", "Bearer "+liveKey(1),
			"X-Forwarded-For", each.header, "Forwarded", "for="+each.header, "X-Real-Ip", each.header)
		if each.want == "" && (answer.Code != 200 || !reached) || each.want != "" &&
			(reached || answer.Code != 403 || !strings.Contains(answer.Body.String(), `"code":"`+string(each.want)+`"`)) {
			t.Errorf("%+v: %d %s", each, answer.Code, answer.Body)
		}
	}
}

func TestWithoutAKeyNoAddressIsLookedFor(t *testing.T) {
	k, _ := servingNetworks(t, nil)
	calls := 0
	byProxy := ClientIP(func(*http.Request) string { calls++; return "192.0.2.7" })
	route := k.Protect(whoami, byProxy, Header("X-Api-Key", "Authorization"))
	for _, each := range []struct {
		sent []string
		want Code
	}{
		{nil, MissingKey}, {[]string{"X-Api-Key", ""}, MissingKey}, {[]string{"Authorization", "Basic eDp5"}, MalformedKey},
		{[]string{"X-Api-Key", "a", "X-Api-Key", "b"}, MalformedKey},
	} {
		answer := asked(route, each.sent...)
		if answer.Code != 401 || !strings.Contains(answer.Body.String(), `"code":"`+string(each.want)+`"`) || calls > 0 {
			t.Errorf("%v: %d %s, after %d calls", each.sent, answer.Code, answer.Body, calls)
		}
	}
	if asked(route, "X-Api-Key", liveKey(1)); calls != 1 {
		t.Errorf("with a key the function is called %d times", calls)
	}
}

// What the property compares with: addresses as texts of 128 digits, 0 and 1.

// bitsOf is empty if the text is no address. A mapped address has the 32 digits of IPv4.
func bitsOf(text string) string {
	if at := strings.IndexByte(text, '%'); at > 0 && strings.Contains(text[:at], ":") && at+1 < len(text) &&
		!strings.ContainsAny(text[at+1:], "%/ ") {
		text = text[:at]
	}
	if !strings.Contains(text, ":") {
		return decimalBits(text)
	}
	groups := strings.Split(text, ":")
	if last := decimalBits(groups[len(groups)-1]); last != "" {
		high, low := new(big.Int), new(big.Int)
		high.SetString(last[:16], 2)
		low.SetString(last[16:], 2)
		groups = append(groups[:len(groups)-1], high.Text(16), low.Text(16))
	}
	text = strings.Join(groups, ":")
	if halves := strings.Split(text, "::"); len(halves) == 2 {
		missing := 8
		for _, half := range halves {
			if half != "" {
				missing -= len(strings.Split(half, ":"))
			}
		}
		if missing < 1 {
			return ""
		}
		text = strings.Trim(halves[0]+":"+strings.Repeat("0:", missing)+halves[1], ":")
		if strings.HasPrefix(halves[0], ":") || strings.HasSuffix(halves[1], ":") {
			return ""
		}
	}
	groups = strings.Split(text, ":")
	if len(groups) != 8 {
		return ""
	}
	bits := ""
	for _, group := range groups {
		number, err := strconv.ParseUint(group, 16, 16)
		if err != nil || len(group) > 4 || strings.ContainsAny(group, "+-_") {
			return ""
		}
		digits := strconv.FormatUint(number, 2)
		bits += strings.Repeat("0", 16-len(digits)) + digits
	}
	return strings.TrimPrefix(bits, strings.Repeat("0", 80)+strings.Repeat("1", 16))
}

func decimalBits(text string) string {
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return ""
	}
	bits := ""
	for _, part := range parts {
		number, err := strconv.ParseUint(part, 10, 8)
		if err != nil || strconv.FormatUint(number, 10) != part {
			return ""
		}
		digits := strconv.FormatUint(number, 2)
		bits += strings.Repeat("0", 8-len(digits)) + digits
	}
	return bits
}

// A drawn address is near others: few groups differ, and some texts are no addresses.
func drawAddress(random *rand.Rand) string {
	few := []string{"0", "1", "ff", "ffff", "db8", "2001", "8000", "FFFE", "00", "0000", "c000", "", "00001", "g", "+1"}
	if random.Intn(3) == 0 {
		parts := []string{"0", "10", "127", "128", "192", "255", "256", "01", "1", ""}
		return parts[random.Intn(6)] + "." + parts[random.Intn(9)] + "." + parts[random.Intn(7)] + "." + parts[random.Intn(10)]
	}
	text := ""
	for count := random.Intn(9); count >= 0; count-- {
		text += few[random.Intn(len(few)-random.Intn(5))]
		if count > 0 || random.Intn(4) == 0 {
			text += ":"
		}
	}
	switch random.Intn(5) {
	case 0:
		text = "::" + text
	case 1:
		text = "::ffff:" + drawAddress(random)
	case 2:
		text += []string{"%eth0", "%", "%a%b", " ", "/8", "1.2.3.4", ":1.2.3.4", "::"}[random.Intn(8)]
	}
	return text
}

func TestAnyAddressIsInARangeIfItsFirstBitsAreThoseOfTheRange(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	read, inside := 0, 0
	for count := 0; count < 200_000; count++ {
		address := drawAddress(random)
		bits := bitsOf(address)
		got, ok := readAddress(address)
		if ok != (bits != "") {
			t.Fatalf("%q is an address: %v, and %q", address, ok, bits)
		}
		other := bitsOf(drawAddress(random))
		if !ok || other == "" {
			continue
		}
		read++
		// A range of the other address, as the feed writes it.
		length := random.Intn(len(other) + 1)
		if random.Intn(2) == 0 {
			length = random.Intn(len(other)/4 + 1)
		}
		first := other[:length] + strings.Repeat("0", len(other)-length)
		text := textOfBits(first) + "/" + strconv.Itoa(length)
		if len(first) == 128 && strings.HasPrefix(first, strings.Repeat("0", 80)+strings.Repeat("1", 16)) {
			continue
		}
		each, ok := readRange(text)
		if !ok {
			t.Fatalf("%s is no range", text)
		}
		want := len(bits) == len(other) && strings.HasPrefix(bits, other[:length])
		if each.Contains(got) != want {
			t.Fatalf("%s is in %s: %v", address, text, !want)
		}
		if want {
			inside++
		}
		if each.String() != netText(each) {
			t.Fatalf("%s is written %s", text, each)
		}
		if strings.Contains(other[length:], "1") {
			if _, ok := readRange(textOfBits(other) + "/" + strconv.Itoa(length)); ok {
				t.Fatalf("%s has bits behind its prefix", other)
			}
		}
	}
	if read < 10_000 || inside < 1_000 {
		t.Errorf("of %d addresses %d were in their range", read, inside)
	}
}

// netText reads what a range is written as, and writes it again.
func netText(each interface{ String() string }) string {
	again, _ := readRange(each.String())
	return again.String()
}

func textOfBits(bits string) string {
	size, base, mark := 8, 10, "."
	if len(bits) == 128 {
		size, base, mark = 16, 16, ":"
	}
	var parts []string
	for at := 0; at < len(bits); at += size {
		number, _ := strconv.ParseUint(bits[at:at+size], 2, 16)
		parts = append(parts, strconv.FormatUint(number, base))
	}
	return strings.Join(parts, mark)
}
