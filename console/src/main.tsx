import { render } from 'preact';
import { Console } from './console';

render(<Console />, document.getElementById('console')!);
