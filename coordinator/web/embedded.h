/* embedded.h - the files of the page, as tools/embed.sh has put them into the program.
 *
 * Threads: any.
 */
#ifndef ORBLOOM_COORDINATOR_WEB_EMBEDDED_H
#define ORBLOOM_COORDINATOR_WEB_EMBEDDED_H

#include "base/span.h"

struct span embedded_page_html(void);
struct span embedded_page_css(void);
struct span embedded_page_js(void);
struct span embedded_icon_svg(void);

#endif
