import { Admin, ConnectionOptions, Idempotency, IdempotencyOptions, Keyrail, Keyring, KeyringOptions, Limiter, LimiterOptions, RateLimit, UsageReporter, UsageReporterOptions, Whose } from "./core.js";

/** Controls the in-memory service of a test double. */
interface TestService {
	/** Advances the service's time by milliseconds and runs what is due. Otherwise its time stands still. */
	advance(milliseconds: number): void;
	/** The service is not reachable until `recover`. */
	lose(): void;
	/** Ends `lose`. */
	recover(): void;
}
/** The options of a production part, without the connection. */
type TestOptions<Options> = Omit<Options, keyof ConnectionOptions>;
/** A test double of a limiter; made by `createTestLimiter`. */
interface TestLimiter extends Limiter, TestService {}
/** A test double of `Idempotency`; made by `createTestIdempotency`. */
interface TestIdempotency extends Idempotency, TestService {}
/** A test double of a usage reporter; made by `createTestUsage`. */
interface TestUsage extends UsageReporter, TestService {
	/** Sends what was counted, and returns all requests reported until now, by `keyId`. */
	reported(): Promise<Record<string, number>>;
}
/** The production limiter with an in-memory service. */
declare function createTestLimiter(options?: TestOptions<LimiterOptions>): TestLimiter;
/** The production idempotency with an in-memory service. */
declare function createTestIdempotency(options?: TestOptions<IdempotencyOptions>): TestIdempotency;
/** The production usage reporter with an in-memory service. */
declare function createTestUsage(options?: TestOptions<UsageReporterOptions>): TestUsage;
/** Options of `createTestKeyring`: those of `createKeyring` that need no service. */
interface TestKeyringOptions extends Pick<KeyringOptions, 'onUnavailable' | 'shadow' | 'onError'> {
	env?: 'live' | 'test' | 'both' | undefined;
	externalId?: boolean | undefined;
	keyMeta?: boolean | undefined;
	labels?: boolean | undefined;
	names?: boolean | undefined;
	meta?: boolean | undefined;
	/**
	 * As that of `createKeyring`, but without `importWith`: a key that it accepts becomes one of the test keyring, which takes any tenant
	 * as known.
	 */
	onUnknownKey?: KeyringOptions['onUnknownKey'];
}
/** The properties of a test key. Every one has a default that suits most tests. */
interface TestKeyOptions {
	/** The text of a key from elsewhere: 1 to 512 visible ASCII characters. Default: a new key. */
	key?: string | undefined;
	env?: 'live' | 'test' | undefined;
	tenantId?: string | undefined;
	scopes?: readonly string[] | undefined;
	/** Ranges from which the key may be used, such as `203.0.113.0/24`; `[]`: everywhere. Default, and null: those of its tenant. */
	allowedCidrs?: readonly string[] | null | undefined;
	rateLimits?: readonly RateLimit[] | undefined;
	/** Milliseconds since the epoch. Default, and null: never. */
	expiresAt?: number | null | undefined;
	/** When the key is too old for its project, in milliseconds since the epoch. Default, and null: never. */
	tooOldAt?: number | null | undefined;
	/** In verdicts of a keyring with `labels` or `names`. */
	keyName?: string | undefined;
	tenantName?: string | undefined;
	/** In verdicts, unless the option `externalId` is false. Default: the tenant id. */
	externalId?: string | undefined;
	/** In verdicts, unless the option `keyMeta` is false; `tenantMeta` with `labels` or `meta`. Default: `{}`. */
	meta?: Whose['meta'];
	tenantMeta?: Whose['meta'];
}
/** A key made by a test keyring. */
interface TestKey {
	/** The key itself, as a customer sends it. */
	key: string;
	keyId: string;
	tenantId: string;
}
/** A test double of a keyring; made by `createTestKeyring`. */
interface TestKeyring extends Keyring {
	/**
	 * Makes a valid key.
	 *
	 * @throws TypeError naming a limit, a range or a text that the service would reject
	 */
	issue(options?: TestKeyOptions): TestKey;
	/** Ends a key: from now on it is refused for this reason, `revoked_key` by default. `enable` undoes `disabled`. */
	revoke(key: TestKey, cause?: 'revoked' | 'disabled' | 'suspended' | 'expired' | 'deleted'): void;
	/**
	 * Pauses a key: it is refused as `disabled_key` until `enable`.
	 *
	 * @throws TypeError for a key that was revoked or has expired
	 */
	disable(key: TestKey): void;
	/**
	 * Ends `disable`, and gives back exactly what was. An active key stays as it is.
	 *
	 * @throws TypeError for a key that was revoked or has expired
	 */
	enable(key: TestKey): void;
	/** Suspends a tenant: every key of it, also one issued later, is refused as `suspended_tenant` until `resumeTenant`. */
	suspendTenant(tenantId: string): void;
	/** Ends `suspendTenant`. */
	resumeTenant(tenantId: string): void;
	/**
	 * Sets the ranges from which the keys of a tenant may be used, also those issued later, unless a key has `allowedCidrs` of its
	 * own. `[]`, as at first: everywhere.
	 *
	 * @throws TypeError naming a range that the service would reject
	 */
	setTenantCidrs(tenantId: string, allowedCidrs: readonly string[]): void;
	/**
	 * Simulates a keyring that cannot judge. `stale`, the default: the service is away for too long. `not_ready`: no keys are
	 * loaded. `not_held`: not all keys are held, so that an unknown one may be valid. Until `recover`.
	 */
	lose(why?: 'stale' | 'not_ready' | 'not_held'): void;
	/** Ends `lose`. */
	recover(): void;
	/** Has no effect, so that several applications may share a test keyring. */
	close(): Promise<void>;
}
/**
 * A keyring for your own tests, wherever the SDK takes a keyring. It calls no service, and verifies keys with the production
 * code.
 */
declare function createTestKeyring(options?: TestKeyringOptions): TestKeyring;
/** Options of `createTestKeyrail`: those of each part. */
interface TestKeyrailOptions {
	keys?: TestKeyringOptions | undefined;
	limiter?: TestOptions<LimiterOptions> | undefined;
	idempotency?: TestOptions<IdempotencyOptions> | undefined;
	usage?: TestOptions<UsageReporterOptions> | undefined;
	/** Your own answers. Without it every call of `admin` rejects with `not_in_tests`. */
	admin?: Partial<Admin> | undefined;
}
/** A test double of a `Keyrail`; made by `createTestKeyrail`. */
interface TestKeyrail extends Keyrail, TestService {
	readonly keys: TestKeyring;
	readonly limiter: TestLimiter;
	readonly idempotency: TestIdempotency;
	readonly usage: TestUsage;
	/** Makes a valid key: `keys.issue`. */
	issue: TestKeyring['issue'];
}
/**
 * All of `createKeyrail` for your own tests. It calls no service, and judges with the production code. `lose`, `recover` and
 * `advance` concern every part at once.
 */
declare function createTestKeyrail(options?: TestKeyrailOptions): TestKeyrail;
export { TestIdempotency, TestKey, TestKeyOptions, TestKeyrail, TestKeyrailOptions, TestKeyring, TestKeyringOptions, TestLimiter, TestOptions, TestService, TestUsage, createTestIdempotency, createTestKeyrail, createTestKeyring, createTestLimiter, createTestUsage };
