import { Link } from '@tanstack/react-router'
import { places, settings } from './navigation.ts'
import classes from './navigation-links.module.css'

type Place = (typeof places)[number] | (typeof settings)[number]

const PlaceLink = ({ label, to, Icon }: Place) => (
  <li>
    <Link to={to} className={classes.link} activeOptions={{ exact: to === '/', includeSearch: false }}>
      <Icon />
      {label}
    </Link>
  </li>
)

export const NavigationLinks = () => (
  <nav aria-label="Main">
    <ul className={classes.list}>
      {places.map(place => (
        <PlaceLink key={place.to} {...place} />
      ))}
    </ul>
    <h2 className={classes.group}>Settings</h2>
    <ul className={classes.list}>
      {settings.map(place => (
        <PlaceLink key={place.to} {...place} />
      ))}
    </ul>
  </nav>
)
