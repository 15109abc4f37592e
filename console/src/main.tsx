import { render } from 'preact';
import { Console } from './console';

const place = document.getElementById('console')!;
place.replaceChildren(); // the name that stood there while the console was loaded
render(<Console />, place);
