/** The contrast of colours such as `#1d6a58`, as WCAG 2.2 defines it: 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** The text on an accent: black or white, whichever contrasts more. The widget chooses in the same way. */
export const textOn = (accent: string): '#000000' | '#ffffff' =>
  contrastOf(accent, '#000000') >= contrastOf(accent, '#ffffff') ? '#000000' : '#ffffff'

/** WCAG 2.2 §1.4.11: what a button needs against what is behind it. */
export const contrastLeast = 3

function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
