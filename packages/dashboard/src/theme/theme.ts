import { createTheme, defaultVariantColorsResolver, type MantineColorsTuple } from '@mantine/core'

/** Shade 7 is the green of light pages (#1d6a58), shade 3 the green of dark ones (#6fd0b4). */
const green: MantineColorsTuple = [
  '#eaf6f2',
  '#d2ece3',
  '#a3dccb',
  '#6fd0b4',
  '#48b397',
  '#31947b',
  '#257a66',
  '#1d6a58',
  '#155144',
  '#0d3a31',
]

/** Red marks faults, and actions that cannot be undone. */
const red: MantineColorsTuple = [
  '#fff1ef',
  '#ffdcd8',
  '#ffb4ab',
  '#ff8a7d',
  '#f26555',
  '#e04836',
  '#c93423',
  '#b42318',
  '#8c1a11',
  '#65120b',
]

/** Amber appears for the test environment alone. */
const amber: MantineColorsTuple = [
  '#fff8e6',
  '#feeec5',
  '#fddf92',
  '#fbcd59',
  '#f5bb2b',
  '#e0a310',
  '#b8830a',
  '#8a6005',
  '#664703',
  '#463102',
]

/** Neutral surfaces and lines have a little of the green, so that fields do not look foreign on their ground. */
const gray: MantineColorsTuple = [
  '#f5f8f7',
  '#ecf1ef',
  '#dde3e1',
  '#cdd5d2',
  '#c0cac6',
  '#8f9c97',
  '#6b7773',
  '#55615d',
  '#35403c',
  '#17211e',
]

/** The same for dark pages: text, then lines, then surfaces. */
const dark: MantineColorsTuple = [
  '#e6ecea',
  '#c3cdc9',
  '#8f9c97',
  '#6b7773',
  '#3a4440',
  '#2a322f',
  '#1b211f',
  '#141917',
  '#101413',
  '#0b0e0d',
]

export const theme = createTheme({
  colors: { green, red, amber, gray, dark },
  primaryColor: 'green',
  primaryShade: { light: 7, dark: 3 },
  autoContrast: true,
  // A filled button is dark in light pages and light in dark ones; Mantine would choose one text for both.
  variantColorResolver(input) {
    const colors = defaultVariantColorsResolver(input)
    const isOurs = input.color === undefined || input.color === 'green' || input.color === 'red'
    return input.variant === 'filled' && isOurs ? { ...colors, color: 'light-dark(#fff, #17211e)' } : colors
  },
  black: '#17211e',
  respectReducedMotion: true,
  cursorType: 'pointer',
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  // A rhythm of 8 px.
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  radius: { xs: '3px', sm: '4px', md: '6px', lg: '10px', xl: '16px' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '22px', lineHeight: '32px' },
      h2: { fontSize: '16px', lineHeight: '24px' },
      h3: { fontSize: '14px', lineHeight: '24px' },
    },
  },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close the message' } } },
    Switch: { defaultProps: { withThumbIndicator: false } },
    Badge: { defaultProps: { tt: 'none' } },
    Anchor: { defaultProps: { size: 'sm' } },
    // Where its field is, a list belongs to the landmark and to the dialog of that.
    Combobox: { defaultProps: { withinPortal: false } },
    // The focus begins at the first item; what Mantine puts before it is no item.
    Menu: { defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false } },
    Modal: {
      defaultProps: {
        centered: true,
        radius: 'lg',
        // A second <header> would be a second banner of the page.
        attributes: { header: { role: 'presentation' } },
      },
    },
    Tooltip: { defaultProps: { openDelay: 300, events: { hover: true, focus: true, touch: true } } },
  },
})
