package keyrail

// The form of a key: <prefix>_<live|test>_<32 base62><6 base62>. The last 6 characters are the CRC-32 (IEEE)
// of all before them, so a mistyped, cut or invented key is refused without a hash or look-up. The checksum
// only rules keys out.

const (
	prefixMin   = 2
	prefixMax   = 16
	middleLen   = 6 // _live_, _test_
	randomLen   = 32
	checksumLen = 6
	keyMax      = prefixMax + middleLen + randomLen + checksumLen
)

// crcTables take four bytes at a time. The package hash/crc32 would make each key escape to the heap.
var crcTables = makeCRCTables()

func makeCRCTables() (tables [4][256]uint32) {
	for at := range tables[0] {
		crc := uint32(at)
		for bit := 0; bit < 8; bit++ {
			if crc&1 == 1 {
				crc = crc>>1 ^ 0xedb88320
			} else {
				crc >>= 1
			}
		}
		tables[0][at] = crc
	}
	for step := 1; step < 4; step++ {
		for at := range tables[step] {
			before := tables[step-1][at]
			tables[step][at] = tables[0][before&0xff] ^ before>>8
		}
	}
	return tables
}

func crcOf(text string) uint32 {
	crc := ^uint32(0)
	at := 0
	for ; at+4 <= len(text); at += 4 {
		crc ^= uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16 | uint32(text[at+3])<<24
		crc = crcTables[3][crc&0xff] ^ crcTables[2][crc>>8&0xff] ^ crcTables[1][crc>>16&0xff] ^ crcTables[0][crc>>24]
	}
	for ; at < len(text); at++ {
		crc = crcTables[0][byte(crc)^text[at]] ^ crc>>8
	}
	return ^crc
}

const notADigit = 255

// digits has the value of each byte as a base62 digit.
var digits = makeDigits()

func makeDigits() (values [256]byte) {
	for at := range values {
		values[at] = notADigit
	}
	for value, digit := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
		values[digit] = byte(value)
	}
	return values
}

// envOfKey reads form, checksum and environment of a key; "" if it is malformed.
func envOfKey(key string) string {
	randomAt := len(key) - randomLen - checksumLen
	prefix := randomAt - middleLen
	if prefix < prefixMin || prefix > prefixMax || !isPrefix(key[:prefix]) {
		return ""
	}
	var env string
	switch key[prefix:randomAt] {
	case "_live_":
		env = "live"
	case "_test_":
		env = "test"
	default:
		return ""
	}
	checksumAt := randomAt + randomLen
	for at := randomAt; at < checksumAt; at++ {
		if digits[key[at]] == notADigit {
			return ""
		}
	}
	stated := uint64(0)
	for at := checksumAt; at < len(key); at++ {
		digit := digits[key[at]]
		if digit == notADigit {
			return ""
		}
		stated = stated*62 + uint64(digit)
	}
	if stated != uint64(crcOf(key[:checksumAt])) {
		return ""
	}
	return env
}

func isPrefix(text string) bool {
	for at := 0; at < len(text); at++ {
		isLetter := text[at] >= 'a' && text[at] <= 'z'
		isDigit := text[at] >= '0' && text[at] <= '9'
		if !isLetter && (at == 0 || !isDigit) {
			return false
		}
	}
	return true
}
