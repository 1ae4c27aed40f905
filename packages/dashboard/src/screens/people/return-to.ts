/**
 * A place of the dashboard to which a sign-in leads: a path behind a single `/`. A link of a stranger may hold anything else:
 * another host, which browsers also read out of `//`, `/\` and of signs that they drop, or a scheme.
 */
const ownPlace = /^\/(?!\/)[^\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u

/** What of the address is a place to go to after the sign-in; none where the dashboard has no such place. */
export function returnTo({ to }: Record<string, unknown>): { to?: string } {
  if (typeof to !== 'string' || !ownPlace.test(to)) return {}
  const { origin, pathname } = URL.parse(to, 'https://dashboard.invalid') ?? {}
  // A path such as `/.//host` turns into `//host` where it is resolved.
  return origin === 'https://dashboard.invalid' && pathname?.startsWith('//') === false ? { to } : {}
}
