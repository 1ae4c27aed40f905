/** @typedef {readonly [HTMLInputElement, string]} Fault */

/**
 * @param {HTMLInputElement} input
 * @returns {Fault[]}
 */
export const faultsOfAddress = input => {
  const text = input.value.trim()
  if (text === '') return [[input, 'Type your e-mail address.']]
  return /^[^@\s]+@[^@\s]+$/.test(text) ? [] : [[input, 'An e-mail address looks like ann@example.com.']]
}

/**
 * @param {HTMLInputElement} input
 * @returns {Fault[]}
 */
export const faultsOfPassword = input => (input.value === '' ? [[input, 'Type your password.']] : [])

/**
 * What can be said of a new password without asking the service. Characters count as the service counts them.
 *
 * @param {HTMLInputElement} input
 * @returns {Fault[]}
 */
export const faultsOfNewPassword = input => {
  const length = [...input.value].length
  const least = Number(input.dataset.least)
  if (length < least)
    return [[input, `A password needs at least ${least} characters; this one has ${length}.`]]
  return length > 256 ? [[input, `A password has at most 256 characters; this one has ${length}.`]] : []
}

/**
 * What the service said of fields, in words for a person.
 *
 * @param {readonly {path: string, message: string}[]} faults
 * @param {Readonly<Record<string, readonly [HTMLInputElement, string]>>} fields input and name, by path
 * @returns {Fault[]}
 */
export const faultsOfAnswer = (faults, fields) =>
  faults.flatMap(({ path, message }) => {
    const known = fields[path]
    return known === undefined ? [] : [/** @type {Fault} */ ([known[0], `${known[1]} ${message}.`])]
  })
