var __defProp = Object.defineProperty;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __esm = (fn, res, err) => function __init() {
  if (err) throw err[0];
  try {
    return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
  } catch (e) {
    throw err = [e], e;
  }
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// src/tables.data.ts
var tables_data_exports = {};
__export(tables_data_exports, {
  packedTables: () => packedTables
});
var packedTables;
var init_tables_data = __esm({
  "src/tables.data.ts"() {
    "use strict";
    packedTables = "H4sIAAAAAAAC/+x9C5BdVbnmv9a/3nv3SSfp7vQ7naTpNE3eJDySJkCUd2ACxgjII0AEtHiJyAwMSoMWRscSiA5DIVIZBhEZZBjUCEilMgwTIIMRvVzMRYqbikDlIpeKqdxUoKLeWmvtfc4+++y1O2i4daXOrpzTvVe+859/Pf5v/Wvt/1/9H6++9oo1awauu+jiKz7zhYGFhhK24syLL4UxBpB7+9so6l+LfX/RB3+Fr8j9fHzceWPYmgPNJuRBCnDJHQgAPQDb2WomNhEA+SABqEwEeFHcBPggQf3f8FTd8ukjmXmpdWKnWMpbLhnk8h3SQ2B/bEZF0dfvxx8QhTvxQg678ZOyshcjsRf7jNiLMyewPUj66D4UahcO8fhd5D1qF8rZai8a9g529MZvYfsqsxNPWEXfRyyQH+/BT/TTHTgFYBdOQ7MbBybtwFmVyhs4q4e9hR2E7cK4cxsurHS+hh1zW3cgzONr2VDlZbx+M6XbcBkdfgj7dqlJO5Hmv+Dy48WvcfaSEx/BQdm1BSeP2OKT78WzWxbfj71In8fui7texjMuuA0Xwxl34UjXyMMo3sHKdlz+E/IAHSO/p7eS1+g1L9JvkU1k6cuzrn2bDm0jAPAIAWBnAMBZAI8RAHKHLb0WAC8H2EQB6Eb7tpUAPEm/DLAVARa9gQDsLQT4yiEPUyD3ImVPkvUIcPRX6aTK1+irGMcFjaT24ycFG2PfI6p7L/5PMr91D55J9+MnJezHM4nYi6fMMLtxMtuHE4jYhy3c7MGW2fFuJK3vooDKu8hM6y6MLmp9BycX9fL7eOVEsR+vbsN9eMOStt14KHsfkbH3EQjdh3go24Mw6R2cpM1upC3mXcQT6B4UR2zCjx858iIu6174DI78kLS9iuIAx/9uHDoMdiO/Qe7B/hkv46TWkx/Ds05a+CyOdi18HNmMnQiwA4Vot79Q+/bLQ15HEzfKIvczCr9j91BTGRP7OMDhu5AT29j99mORfft/h9h2t79BVd6vDnk7Wwb+O7ajMgUKi/14pYA/4dcIq+zB28mM1j14Et2PpyHsx1NQ7MVjbSdMYPtQ2k6IpOsEsxuhvhMurBR3An0fz1ewF2dXcC9+rKeyGznbix0x24udGnahmcp2I2t7AwdY5R00XfHbSA6F/dg6bzMul4Mv4bJJwy/inEVt2wv6gMyFnXjM0Ww79uvD38Fogi0f2IwroeNFnN7DX8X+znW49Ihz1+GyKcsexoWThzdgvJbaRnsdjZlbbbRfuE5osIHHrQ2ss6XXAeA1AM/b4b+NAsCzFOC/xI9RIFYaz3Tn9obm/3vX/GNkE4UxK8xdD5GW7jGyAEyLHjgFFnVUxsi5cBwMnXUOnnPV0Bg5CpZWeufd3PkCfZVcMEZ6YC3p7aXfJitychYN8DEyCo8SesT1l50p2Y1jZBbc2DGy8uqj3ySwnYwRA3eTypxZn+78Z3rCn8gYORqepYsv/nzr0pwkfQt5itjbdbRv4f3kK+RLfyAzt5AxMhX2krblqz+Lcyfb2yNhK+ledkL74jvEZvzfbIzcCPNx4UbyGzphI95Jzh4jS+A5+jwZ/hGZsZPKb9LZY+QGuGgziduuHyPb6VW3kDEyH8Q9xMzpGb5b3k3eI2NEQvvIrDXfp51P6QfJz8kYiWDuWZ3ryHO4JKfnJjKt9YJ5sBh6Fp7ysRnd6l4yD0baBkZPItDd/QAZgDn9A8Pnt/5/8hBZehfpg5W9nfSykZyQ5d0n3LQArhNHnXzshdOmTn+c9MKqoYVHHYNLer5FHiEI18bLzAmVn5GWjWT1bNhIhtcc3tOZE3Lype+R5WvgLnLogvvIou+S75LKqjvIVHiCdMy6fPaSH5I5Z6+eBjtIx4orp573AG4jP8eX6ChMXnnqqv9BJqwjXxxeT6fAzc8QsmjKejKyAJ8hZ8Jpe4jqP2L0Xjr8H8bIDIjuIW0dXYNbcMannqAAXSumL/tC36M445gtdAq0fINUZv1XonN6LZw4cfUoDFa6++fqkUq0kfRDrKYPHkk7lrJtRMCw6e/8TOtvyYOkfzchMEq78eaj8g3Uo9YSAeeRjsXHd51zVPfrhMCQ6uic3/0cGezcRSI4Lz5i5LDW/0WnXXMf6YNXSNcaxqbnpBx/C7mNridL4KbOE0/8/KTP9/fuJO2wuntw4fHip7R93qOEwk7SupJOEK/Ss49/HDV8n8CsnvM/ftUJE96mGlrmRXOOlJ0XTn0UI4C1BAfmV6L15OtkM+2Dpf1sAU5+Am+evAWHYXQOTPzS0a/Szw4+ggCzR1XL6SynzgWCPERaoTVS/eeYG4hZR4ehFdji2ZXPKNhG+4EKmHc4nN4trH0bgbOOacuJ+Owcvp72Qj+f0H905Y8Eul+jR0AXF71y1tVx38vUAKGkrWvxe6S/7zbaBpNNZXHXxTkhb5Jd9E62ng7DlPMrs5beRv6FwOSNZDqMtvauGYTDv/yl4xBiMXhe++pb6ZRlW6mCH5MutnDJpCuPHtlGp8NM2Te90vFzUjn7KToCx04+tBUWfJvwS9fSOfAJc+j0vqU/Jldft4VOgqs72uPBs/876TnjedoCfZ3tWh+X02Z2O72fqBsnTZk4OnvOp4j4NRlZE3Mybyqc06nX07ZVBtjQ4fQUxe+j+sQ2SkemTcqJOEm1vUR6L+jtUssW6dvJfPYTOmekncKpQD/VMnET5YMcKkMT5txJ4il7yMQFnLQd0ZNvldvxxD+SfaSt8jA5duFmMhz/A5l9/d2ksnhkuu3e44fNQrqmlfaeMWXOU6T93F8T8zS5uR26F7HLZh53K450HT55KnQMPkkGV79Bh2cc2zOzD876xIRlO8jw2XNFC3aNzrxk9R7S+S1ympkYiaXzJ6x8msSvkBmVCWwa5JRZUpl0xfDnWqEyNJt+WpsNZGAtaeWkfzLcTph6i3R8lRhKBtrFF2O6k7Axwhj0trfmpJw+c2gj6b60Qs1RfeQHpL13Fxn4XEXqUc3fIx3t99HBjwPFfhj6HjXtW0nbNS2tMEJW5aSctvJJ0tZyB1086bTbyOpLXqCT4DYy7y5ynNaL+9UvydDcoenPktY4Xg6z5i1afmPLd+hFCnqj3t+T0zvfJ9NX6mlTOk+c/hztv+pRunTymTMOkced/G1cPLqRjH6TzJDtXdNX/oKcsuJh0r+dHMsmLB2RvyMDg9epe+ghAMMk3zbN2+btQbklFDnX0nCporjkiqLIQoUQSiiPjer/O3sRiszCpJLGRFFkgkI9VColpdIlUHt5qJXqoVEUhaGMcSGkhSvj0YWaRhGliIxzbuFKaxMZY6Lii1JkjHHOhHDqmoAGForosIzzBGoCykaYQNFpbPUNVswjLTSRq4MqeCRjDlqVW6irBzJupTuoa4TCFvBA7qCJCjWhjVBeg9rWrQk1dRdPLmQeLKyuxcPFA4VIoVzKRlUzUoXgzEGRcyF1oF3tuLZXAmWMB6GiBq1qGxgvBVCpi8eLtGNVCMG9toicS1NUfwuV9p+sQq2yAakOKLJQpeJCs5VKWWvNQFlYV2uD2kJTsJCFpmU1UEppxW0vJHJlwGSVtmKlawNusZSJ4j5QUju+EK6HrVyKvNgKpFKREFp5oFeBFTOdJQshhGScpTaGdRpkayUct7hKMT9ghCoyGeP4VforLr2qpGmrFpeScZwhTWN0HObBOOVXWSXNMMNn+NUYY8qwrlpCKlGFBrGOXxkXFp5QcYCJ6/jVcluYiXP8qkxJeyX8yqyhWLElc0yCtB1aroIxWCPNhOIb2qCONP3gY7yc4BOhPMODJVCe8Kudv4TToNi4q/zqsUKaYAs0UHExC3jSdLSZYawgVGT51angemwc0ky1DVGxs0Ipq1AmSljbMqwUVcbiIgiVnmEzpFkCbeDXwIiV7vsPkLWtYVt6q3KmUMU96xggJU3HgyENjBNpteU1FYQunGSlgwqZmY6YCEl1Mo0QLJ3mUDSOWD9vGWm0ksrSezoUAwaulIhjGSk3FyBzHpoqFEsJMjcdKDeF6YAzEiVQR2/GOi060mGn1EK5l1fuZ8axkyqkllpH5oCgynFQodgMEzqCFYlVl4lFx5o8JSFTwtpIPVcwzxZlDJ9YFEMHLa0YS6FerDHl0NQpFeUONEup2IlVrhHiMtJM+FX41g1I5RlXlxVwZqYLRJVf7VqCl1GxyPNr2mSN7q4UWahlrOAkl0pNvJaDxK9KeN+lRprBdUE9Z1FPWcVNkHCmOADSVMIzbI40i0xBO3apc0pDq1S/2FRSJKxJLS0U91eeCa3XE4Bq//11UBWCam0JQwguPBSDUrXWSiuVhRbXKzIOayme27a1ts4Da6PYspVWRvo2sFAhQwtvY70gp4IdNJRSbhd9QU9TKGnVjsd1SlPSNOV7CSkT2tFf7unGCWsnHlbpBkVGqjPVMiqmfoMgcdsLodn9Ac+vVWjAKUWakJYntxJVo3p+DVXMu491/BoFjDWFZkhTl0wwEcMqaXp+DU8bPMOvTMiyHuM1/xXHh9aY0Lm6wTbI+a9S6uL2N8YkpOn3B5wKQakWal3Yqkeogh0reI5fZbAPPgBU1qg40TbYtTIl+Kr/akLjRbqFrJQ173FcqTV+DZp4omsGWrjctZfjVj8X+B5Db40Fl9ZSC09tbsVBWXANI2ItuOZaKmsIjFJuJ/piXeNIykhGWgvbUpRar694HOjkqlI8cctaU3BloIJzwt3qU0hdeCl3uablfofAro9U4+UW0tZ1s8rEetxFv6e3OIqjA+TXss2BFOpZ28TjcHGOX8vAGf+11M2M4yizP6B1cLntroz/WrfcLqLiDL+q0iao91/Dq/gCfjUlXJx6mjQlt7AO9f7rh8WvOgrVqmF/IDWWsFMqas5jOVRk+LWEtR0LZUgzTMUJZ2WW0cHh4jf0qvuvhVuPNaluN6Hm5h0cKj5g0rQuVo6KtSm8tMp7xRikDS2N1H6n1HqEKRUXXUZGus4tx+zwzq0hjLHcJe1YFJRbn1SbqMRwjeZCUMYl4UJKrYvngpRfmbBWRp10UcSsKRlLSdL9Yu9zNV7eKTVKlm18Zh5aSaVEo6MbFT3fEv7pVtCwM7sOCWmOw8X1/FrKWd5/5YL7lWY5NOu/xmHvNee/lnvF9fxa6mvn9geCa/OCRb8pk1rnv45Pmh+y/1qCbeBXHdzWbvBfy/nVDv4D8V+l8G5pjV+L9ibSDYqc/xrmV/8YRByA/6q8T5rZpoxCyirh9x3SxzUJv4ag9a5ull/rqpUs5JV7DOTGeXDuNn5LNcOEQWOMtIi0X5wzt01ZAuUyYlqpdJajTBWvuOPICK251tpOCRwZsz6pKPRJjUo3KET1+RZzJBa+6qDWdBqvev816d6A/5pueFWd3uCVQmXWRS6+ki1NwccRqaSsQuW4WJpUmYlxdU2IkDMh1AFB7SQ0rra1x/cfBCrH0TblbPfYWh0wVJR3QjUogOE4YmU2KICXt21dUIBfPJVAeS1+oLQb6h5a8bC2zmmqQt1TvpJq8ez+a7lVOcquQcvaVninWKRPjku0zccP8LDl1KCptiLcCDlouG0ToTLhgBJtZXpV6SI8brPQVIWyLstBhRpH6njayhSbeNvlI6HJr01+bfJrk1+b/PrR5Fe6YtXfbmLov0HR3Qxg8H17cxPAGLHFmxDgJ2QuAPyJAjziyh5FgKfRAMB3EOAB6oQhwFZ1KsBhOynAVm7LXqMAY2YRwM8GtlCAHaJAiWYHZN/szw2ujff32fetLPDRZxFgHXuFAbzJX0aAb7hOeBABXpd3IMCPuh9GgKfQltr7jdEjFODvDvsGArwsm/0wTtFtBmAT/fOxAOvnu+bmgY8+jQCbxSMI8E/tT9h+cC3+GALsVhsQ4Kc99ve3McXuUQ8hwAszn0eADdjsh3GKvsMAhvYzAPafAG6tEtIGR0iWch52Zbb9X8JBALgHAe6p2sIDyo73O6n9fZtr7ccRYL3eRgF+0/sUArzoDeyjnvmxm/9M+NvJAMOwnS7xd3327j/vSKCXWejXyQO1Tx4K3zVvcH97LsBhH/2W2kz/D4MN9nYjBzgLJhBYDQD3W74lcNSR8GUAeJoCLIA/kGcIbLXQOwhADMuvgi32bimA+Og31H30TYT1FAD2E1vhreSFpDXuIQBTQC8Al8t9sh1lfybXwnZ7dynAIfBj7HFkCK8QgJ5mklbztnnbvP1wb6PXCDxh2eofHTv17aRwOQBogEvgsH0UzgOAVntz8mYKV4ClKbgE+rcRz1szAU5rtugHyTX9d7CXiSiELIwUqI8y8FD3ZC8a50JkiH7LSyodueCG4lAXY6VyLgRz2VDGRXjocIIT1nJNo2Bkf5oL5XZIk6wlHYopr+ZCcbcd4vObip8wZ3KhXGiFCT/lzyc4WQUOFBqOAM6npaok3TWUlpqmTflk12CqZ/ZZvM+MLY5H8QmkIvPY3iW7FXeB4CKFphm3oUxLL1SkO6QuIiEg1cWnutzJdBNNhHSt28t04YbBXFORDWBigSjZXDJWmkTLyqS6h/Es1dbFRBSHxgkP5tnNuWAqks+FymYWBHKhZJK3xDNJXsXpHTqFitp2KhNCFUYucJ/Byq3NJNueDVAHVoqnG+sud9SNyKIA0Q9tL9MH0nIUkjMZJixjDPGJ0ZxxwZgsjdYnzAfyWeHIy7ARQZ7YjKW4tJEKdXBQwYXPvC8NtKHUsqCP8uJCaBWOzKLUx8+g8ElOqiwuy8fEcClca5ZE61sF3Fi17c+lUcUxbj5C1aWkcpcNx2VcEvZpoV6qi6IqS3ZNnlV5qLPWYMhXEuvF04RX1TAVVHV1cdTV3XwfmxU41CF9VlTdoI+CcW+c1WUtuXSsBmh92Gma4CTCuVAN0PrgmVACKcXSwwQKoMFc0zTV0+frcJeEUAL1pOkCjdxUH8oKrT5/QZrm2xbP8iL7AChNIC0++cA/g/HsgknNAlIdt/n8Ip9zjyxji/XxmcZ6TUarRF+XeFls35bkIs90juQJZcFDEiww0koaIy0hUMK40mHuUsq4YH3JPdSEowm1joSySMEppYIVOw/pB5RRikkmBaOUFoezJmOPMmHiWJXGiGLikzEp49iUu49p/qYoS16tl+pjLsuuWlaoz7kPRxyaDNSHHB+ArtZpKg+Vr8bqC5ET2xDElktLjUoiKTOxpGnOfVSSNlXnv5YkkNbCToVQsiztvyCXP0CE9WlT5Wn/oj7s1GFNWa5p1cHxLnTAe8unpUodqpYPPa+lpYqyrHsXyVklTT4ONJMBwEQ4K1T5ky9qTMhlYKJ3aZZKS5HGkrLQ4UVRwm2WCVPeDmVaqkZ+tW5JIJXeKZtN0A+4uokC2SBZLoK6OrmpU+oSR4Ks7SMosl6xKrRDk/iPdiXrVaCsKGHBQZVLTPUjIWnbYtJMk11ldW1AkRXTdqyUOyag6r+67IriXNNmrFMz1qkZ69SMdWrGOjVjSZv82uTXJr82+bXJr01+bfJrk1+b/NrkV5/LH2ljjM9lj8rPotJGGaP96WKlUKHc6bNKlUmNooS1pXvAVZy+W3eUqRtZ7pGV0eMckMpdb6V7paW7utydmCP8KXN6HKh7gOwewpiSJ1G+K50tjgNNNpuYswX/9D5w7EN6Ylty/LQu2VaubdWmxxjq0K5+uqnqdh7d5mf4UDw/9ljyuMadERmVHLXnof4EbFEO9ccCutMaSqC1s/48VPCwVJHyq9+k5FxGwQOm6qiYszA0OVGkatgowuc7JYel+M11xBKoSo41SXa3KQoVOmgss6lqq0ZRBB9Ly+pJe+7pOXUP74u27BOpPjYnOeuPh44D0slerW8G94BL5g03u1XrOcvtFiNSHjg2yo5vbbQ7ntBiKaMoCjeWo7i2D6ul5LZ7KeO85AwMF+mjtXCP7mgAmj0k0aikZijKz8czkdHGdgZSwguenjb916b/2vRfm/5r03/9cPxX6v4MKf3tmNrwFUVXrCL/95bWP97Siv6vk64hsYh1LKszRxyrOIplrGPmDjVUsYijmMdRrGMTs9jEIo5jbj2dOI5NrJPffbmXY5LPWpwtFzFxJXHyKfuy9xj7iAbhjiGMq5J1Vbp/8USaSPAq8//JZyMS80w9koPIYhXLqs7pJ21pql9NqnHaZL8lTurmcSrika0H5r3I5GWdLJn85MkrSspkpkwnmPSxpUhe1ekwFq7Nsw6FimSk3Lek0tJylvm0TN7RvSv3DTKJdkk/K7y0Wn/U1QPrImQ8mmXuU4ks60GlsVLJ72m9qBtD9fEqdlxo185R0ntRbGIeq6QsDRix+mqnjclI5Jky/5IRqdMlXw+TaWNW98n6ukU1H8jw/FlHWhUGUbIiEi8so+OWkThyLZDah0zsg+XKePKKM6M3Wyay65Ckb9P+Ibo4/Bwz7+nFC3Bi/DJFIhGV2UeU6Y98gDsvKCsYa0Zp+iH0hwr2RzXCMOGrOMdBLK6PyhKZ/lC5MpmxaRrRxpgkw4ww2FAqDWvANZa57Ym6iyTWlrV0VjDu+QGWqRxXubIPZB/0L+uPzLgSOf14rozndOQFeRGyNtaqbeYWbEVOZIF+rBCX8WGSi+Xu7biiBeOKZde5yYs3HC/cONZU1uarf1JJFvofKBsv9heW0QL7sLrl6yZydYtzvJblMZY9wdRx+AexD1NQhgU2gzn7UIX1wOp8Fa6HKOijfL/5hbJuOMx5fI7FAMdiUkbqjxuNo+rYSH2ptJ1F5sVz/lV2/lCZvlD1ZX5er7Zd7Xup0wgb6lFUt+L61n+WWr4KzOepb5VyUNYTkJkyncHKzNyT+i8HZz6npTia9EfezmnS9joZWyrnA6c/MfP/aX+wOg82jljDN3gMbxjR9jO0MWK+VpbhynrGT+rRMC/QAv8q2x9lZXk/TAX8kvIxRDJl4/Ubuv7gmfYVmfk8u5pJ7VzmyvI4mcFZP8vWi5jik5Ox4CxloVmBLYxfhkk9ouS7o0QfmtE1teHsakYEylSmbinGBIK2ZdU7Y5ky1ng8ayE/E8e/JvFZ7GpSFMxvNOEakVlLYGaNJBJbphmbT+f6LM75vKFMkQJbKLIPrLOj9Dt4nSUU1SPtj9oKp1q36npWZ8r8OrPGW9lVjz4o/lXYPqpotw6r6ZzuBGDGP2G5svRlcjie/qmRjD9mX0XzRL0l/7Xrj8Z6pD9pTufx6lGHy/iUooSvDnQexJL6+pUN1tUj+6K5eTzK2b7I1KO+rNGOQvaBBbbAcnOKZwFsTNTIzBEWYZJ6xJm/26sSnWXmpT9AGebK6IpVYIQQVFBOOX7w3xTjVFBFJf41UjLyiJUluWQHSR4TlBHFJD848rS08jSqgyRPKUZtCx6s9pOSUUl5nTx66UVAyYd8/WsAAAD//z2rGMbBiQAA";
  }
});

// test/predict.test.ts
import assert from "node:assert/strict";
import { mock, test } from "node:test";

// src/codes.ts
var table = {
  0: ["ok", "nobody", false, "success, or closed on purpose"],
  1: ["bad-message", "client", false, "a message violates the protocol: fix the sender"],
  2: ["bad-state", "client", false, "a message is not allowed in the present state: fix the sender"],
  3: ["protocol-version", "client", false, "the two sides use different protocol versions: update the older one"],
  4: ["schema-mismatch", "client", false, "the server lacks something that the client declares, or has another form of it: build both from the same types"],
  5: ["epoch-mismatch", "nobody", false, "the server runs a different world: drop all handles and connect again with epoch 0"],
  6: ["server-full", "nobody", true, "no free session: try again later"],
  7: ["draining", "nobody", true, "the server is shutting down: connect again, or to another one"],
  8: ["unauthorized", "client", false, "the token is missing, invalid or expired: fetch a new one"],
  9: ["too-slow", "client", true, "the client reads more slowly than the world changes: connect again on a better link"],
  10: ["too-fast", "client", true, "the client sends more than the limits allow: send less"],
  11: ["timeout", "nobody", true, "nothing arrived for too long: connect again"],
  12: ["internal", "server", true, "the server failed: see its log"],
  13: ["kicked", "nobody", false, "the operator or the game ended the session"],
  14: ["identity-fault", "server", true, "the two sides disagree on which entity is in a slot: connect again, and report it"],
  15: ["tables-mismatch", "client", false, "the two sides code rows with different tables: give both the same file"],
  16: ["replaced", "nobody", false, "the session continues over another connection"],
  17: ["spent", "nobody", true, "the session has used up its sequence numbers: connect again"],
  18: ["join-refused", "nobody", false, "the game does not admit this client"],
  19: ["too-much", "client", false, "the message exceeds what the receiver may keep: send less, or raise its limits"],
  20: ["banned", "nobody", false, "the operator has banned this user"],
  21: ["signed-in-elsewhere", "nobody", false, "the same user has started another session, which ends this one"],
  22: ["session-expired", "nobody", false, "the session time granted by the token is over: connect with a new token"],
  23: ["moved", "nobody", false, "the session continues on another server: connect to the address given, with the token given"],
  24: ["no-room", "client", false, "no room has this name: check the spelling, or name none"],
  32: ["stale-handle", "nobody", false, "the target is destroyed: drop the handle"],
  33: ["hidden-handle", "nobody", true, "the target is not in view"],
  34: ["unknown-handle", "client", true, "the target was not sent to this client"],
  35: ["unknown-command", "client", false, "no command has this name: check the spelling and the server's version"],
  36: ["rate-limited", "client", true, "too many commands: send fewer"],
  37: ["bad-arguments", "client", false, "the command's arguments are malformed or out of range"],
  38: ["command-refused", "nobody", false, "the rules of the game forbid it"]
};
var Code = {
  ok: 0,
  badMessage: 1,
  badState: 2,
  protocolVersion: 3,
  schemaMismatch: 4,
  epochMismatch: 5,
  tooSlow: 9,
  timeout: 11,
  tablesMismatch: 15,
  replaced: 16,
  tooMuch: 19,
  moved: 23,
  noRoom: 24,
  staleHandle: 32,
  unknownHandle: 34
};
function codeName(code) {
  return table[code]?.[0] ?? `code-${code}`;
}
var WireError = class extends Error {
  /** code is of PROTOCOL.md, section 13. */
  code;
  /** detail explains this case, for people. */
  detail;
  /** address and token are where to continue, with the code moved. */
  address;
  token;
  constructor(code, detail = "", address = "", token = new Uint8Array(0)) {
    super(`${codeName(code)}: ${table[code]?.[3] ?? "a code of a newer server"}${detail && ` (${detail})`}`);
    this.name = "WireError";
    this.code = code;
    this.detail = detail;
    this.address = address;
    this.token = token;
  }
  /** codeName is the name of code. */
  get codeName() {
    return codeName(this.code);
  }
  /** fault is the side that caused the error. */
  get fault() {
    return table[this.code]?.[1] ?? "nobody";
  }
  /** retry says whether the same request may succeed later. */
  get retry() {
    return table[this.code]?.[2] ?? false;
  }
};
var LimitError = class extends WireError {
  constructor(limit, max) {
    super(Code.tooMuch, `${limit} is ${max}: the server is broken or hostile, or the limit is too low for this game`);
  }
};
function fail(detail) {
  throw new WireError(Code.badMessage, detail);
}

// src/bits.ts
var BitReader = class {
  b = empty;
  at = 0;
  // of the next byte
  end = 0;
  acc = 0;
  // bits read from b and not yet taken
  n = 0;
  // how many
  short = false;
  wrong = "";
  // the first error of a reader's form
  reset(b, from = 0, to = b.length) {
    this.b = b;
    this.at = from;
    this.end = to;
    this.acc = this.n = 0;
    this.short = false;
    this.wrong = "";
  }
  /** bits reads n bits, 0 to 24. */
  bits(n) {
    while (this.n < n) {
      if (this.at < this.end) {
        this.acc |= this.b[this.at] << this.n;
      } else {
        this.short = true;
      }
      this.at++;
      this.n += 8;
    }
    const v = this.acc & (1 << n) - 1;
    this.acc >>>= n;
    this.n -= n;
    return v;
  }
  /** long reads n bits, 0 to 32. */
  long(n) {
    if (n <= 24) return this.bits(n);
    const low = this.bits(16);
    return (low | this.bits(n - 16) << 16) >>> 0;
  }
  /** taken is how many bits were taken, from the beginning of the array. */
  get taken() {
    return 8 * this.at - this.n;
  }
  /** peek returns the next 12 bits, zeros beyond the end, and skip takes n of them. */
  peek() {
    while (this.n < 12) {
      if (this.at < this.end) this.acc |= this.b[this.at] << this.n;
      this.at++;
      this.n += 8;
    }
    return this.acc & 4095;
  }
  skip(n) {
    this.acc >>>= n;
    this.n -= n;
  }
  /** sized reads section 2's sized(v). */
  sized() {
    const c = this.bits(2);
    const v = this.long(4 << c);
    if (c > 0 && v < 2 ** (4 << c - 1)) this.refuse("a number is not in its shortest form");
    return v;
  }
  /** golomb reads section 2's golomb(k, v). */
  golomb(k) {
    let m = k;
    for (; ; ) {
      const zeros = ~this.peek() | 4096;
      const ones = 31 - Math.clz32(zeros & -zeros);
      m += ones;
      if (m > 32) {
        this.refuse("a number is too long");
        return 0;
      }
      if (ones < 12) {
        this.skip(ones + 1);
        break;
      }
      this.skip(12);
    }
    const v = 2 ** m + this.long(m) - 2 ** k;
    if (v > 4294967295) {
      this.refuse("a number exceeds 32 bits");
      return 0;
    }
    return v;
  }
  /** refuse notes an error that check throws. */
  refuse(detail) {
    if (this.wrong === "") this.wrong = detail;
  }
  /** check throws if anything was read beyond the end or was malformed. */
  check() {
    if (this.short || this.at - (this.n >> 3) > this.end) fail("a bit string ends early");
    if (this.wrong !== "") fail(this.wrong);
  }
  /** endBytes checks the padding of a bit string that bytes follow, and returns where they begin. */
  endBytes() {
    this.check();
    if (this.bits(this.n & 7) !== 0) fail("the padding of a bit string is not zero");
    return this.at - (this.n >> 3);
  }
  /** expectEnd throws unless only the padding is left. */
  expectEnd() {
    this.check();
    if (this.end - this.at > 0 || this.n >= 8 + 8 * Math.max(this.at - this.end, 0)) fail("bytes follow a bit string");
    if (this.acc !== 0) fail("the padding of a bit string is not zero");
  }
};
var empty = new Uint8Array(0);
var BitWriter = class {
  b = new Uint8Array(64);
  bit = 0;
  reset() {
    this.b.fill(0, 0, this.bit + 7 >> 3);
    this.bit = 0;
  }
  /** bits writes the lowest n bits of v, n at most 32. */
  bits(v, n) {
    if (this.bit + n > 8 * this.b.length) {
      const more = new Uint8Array(2 * this.b.length);
      more.set(this.b);
      this.b = more;
    }
    for (let i = 0; i < n; i++) {
      if (v >>> i & 1) this.b[this.bit >> 3] |= 1 << (this.bit & 7);
      this.bit++;
    }
  }
  sized(v) {
    let c = 0;
    while (c < 3 && v >= 2 ** (4 << c)) c++;
    this.bits(c, 2);
    this.bits(v, 4 << c);
  }
  /** bytes returns a copy of what was written. */
  bytes() {
    return this.b.slice(0, this.bit + 7 >> 3);
  }
};
var utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
var ByteReader = class {
  b;
  at;
  end;
  constructor(b, from = 0, to = b.length) {
    this.b = b;
    this.at = from;
    this.end = to;
  }
  get left() {
    return this.end - this.at;
  }
  u8() {
    if (this.at >= this.end) fail("a message ends early");
    return this.b[this.at++];
  }
  u16() {
    return this.u8() | this.u8() << 8;
  }
  u32() {
    return (this.u16() | this.u16() << 16) >>> 0;
  }
  /** uvarint reads LEB128 of at most 32 bits in its shortest form. */
  uvarint(what, most = 4294967295) {
    let v = 0;
    for (let shift = 0; ; shift += 7) {
      const c = this.u8();
      v += (c & 127) * 2 ** shift;
      if (c < 128) {
        if (c === 0 && shift > 0) fail(`${what} is not in its shortest form`);
        if (v > most) fail(`${what} is ${v}, at most ${most}`);
        return v;
      }
      if (shift === 28) fail(`${what} is too long`);
    }
  }
  /** bytes returns a view of the next n bytes. */
  bytes(n) {
    if (n > this.left) fail("a message ends early");
    this.at += n;
    return this.b.subarray(this.at - n, this.at);
  }
  /** text reads a length, at most most, and so many bytes of UTF-8. */
  text(what, most) {
    return decodeText(this.bytes(this.uvarint(what, most)));
  }
  expectEnd() {
    if (this.left > 0) fail(`${this.left} bytes follow a message`);
  }
};
function decodeText(b) {
  try {
    return utf8.decode(b);
  } catch {
    return fail("a text is not UTF-8");
  }
}
var ByteWriter = class {
  b = new Uint8Array(128);
  n = 0;
  grow(n) {
    if (this.n + n > this.b.length) {
      const more = new Uint8Array(Math.max(2 * this.b.length, this.n + n));
      more.set(this.b);
      this.b = more;
    }
    this.n += n;
    return this.n - n;
  }
  reset() {
    this.n = 0;
  }
  u8(v) {
    const at = this.grow(1);
    this.b[at] = v;
  }
  u32(v) {
    const at = this.grow(4);
    for (let i = 0; i < 4; i++) this.b[at + i] = v >>> 8 * i;
  }
  uvarint(v) {
    for (; v >= 128; v = Math.floor(v / 128)) this.u8(v % 128 | 128);
    this.u8(v);
  }
  bytes(b) {
    const at = this.grow(b.length);
    this.b.set(b, at);
  }
  /** take returns a copy of what was written. */
  take() {
    return this.b.slice(0, this.n);
  }
  /** view returns what was written, valid until the next write. */
  view() {
    return this.b.subarray(0, this.n);
  }
};

// src/connection.ts
var maxUnreadStream = 1 << 20;
var maxUnreadDatagrams = 256;
var maxUnsentStream = 256 << 10;
var closeWait = 200;
function supported() {
  return "WebTransport" in globalThis;
}
async function dialWebTransport(url, hashes, now4) {
  if (!supported()) throw new Error("this browser has no WebTransport: use a current Chrome, Edge, Firefox or Safari");
  const options = { requireUnreliable: true, congestionControl: "low-latency", protocols: ["worldd/1"] };
  if (hashes.length > 0) options.serverCertificateHashes = hashes.map((h) => ({ algorithm: "sha-256", value: bytesOf(h) }));
  const Constructor = globalThis.WebTransport;
  const transport = new Constructor(url, options);
  transport.closed.catch(() => {
  });
  try {
    await transport.ready;
  } catch (cause) {
    const hint = hashes.length > 0 ? "and is the certificate hash its present one" : "and does the browser trust its certificate";
    throw new Error(`can't connect to ${url}: is the server running there with --web, is its UDP port open, may pages of this origin connect, ${hint}?`, { cause });
  }
  try {
    return new WebTransportConnection(transport, await transport.createBidirectionalStream(), now4);
  } catch (cause) {
    transport.close({ closeCode: 0, reason: "" });
    throw cause;
  }
}
function bytesOf(hash) {
  if (!/^[0-9a-f]{64}$/i.test(hash)) throw new TypeError(`certificate hash ${JSON.stringify(hash)}: want 64 hexadecimal digits`);
  return Uint8Array.from(hash.match(/../g), (pair) => parseInt(pair, 16));
}
var WebTransportConnection = class {
  arrived;
  bytesReceived = 0;
  transport;
  now;
  stream;
  datagrams;
  in = { stream: [], datagrams: [], error: void 0 };
  unread = 0;
  // bytes of in.stream
  room;
  // ends the pause of the stream's reader
  unsent = 0;
  // bytes
  input;
  // the newest, while another is being written
  writing = false;
  closed = false;
  constructor(transport, stream, now4) {
    this.transport = transport;
    this.now = now4;
    this.stream = stream.writable.getWriter();
    const d = transport.datagrams;
    this.datagrams = (d.createWritable ? d.createWritable() : d.writable).getWriter();
    void this.readStream(stream.readable.getReader());
    void this.readDatagrams(d.readable.getReader());
    transport.closed.then(
      (info) => this.fail(info?.closeCode ? new WireError(info.closeCode, info.reason) : new WireError(Code.timeout, "the connection was closed")),
      (e) => this.fail(e)
    );
  }
  fail(e) {
    this.in.error ??= e ?? new WireError(Code.timeout);
    this.room?.();
    this.arrived?.();
  }
  // Default readers: BYOB is not everywhere.
  async readStream(reader2) {
    try {
      for (; ; ) {
        const { value, done } = await reader2.read();
        if (done) break;
        this.in.stream.push(value);
        this.unread += value.length;
        this.bytesReceived += value.length;
        this.arrived?.();
        if (this.unread >= maxUnreadStream) await new Promise((resolve) => this.room = resolve);
      }
    } catch {
    }
    setTimeout(() => this.fail(new WireError(Code.timeout, "the stream has ended")), closeWait);
  }
  async readDatagrams(reader2) {
    try {
      for (; ; ) {
        const { value, done } = await reader2.read();
        if (done) return;
        const { datagrams } = this.in;
        if (datagrams.length === maxUnreadDatagrams) datagrams.shift();
        datagrams.push({ bytes: value, at: this.now() });
        this.bytesReceived += value.length;
        this.arrived?.();
      }
    } catch {
    }
  }
  receive() {
    const arrivals = this.in;
    this.in = { stream: [], datagrams: [], error: arrivals.error };
    this.unread = 0;
    this.room?.();
    this.room = void 0;
    return arrivals;
  }
  sendStream(b) {
    if (b.length === 0 || this.closed) return;
    if (this.unsent + b.length > maxUnsentStream) throw new WireError(10, "commands are queued faster than the network sends them");
    this.unsent += b.length;
    this.stream.write(b).then(
      () => this.unsent -= b.length,
      () => {
      }
      // closed says why
    );
  }
  sendDatagram(d) {
    this.input = d.slice();
    if (!this.writing) void this.writeDatagrams();
  }
  async writeDatagrams() {
    this.writing = true;
    try {
      while (this.input && !this.closed) {
        const d = this.input;
        this.input = void 0;
        await this.datagrams.write(d);
      }
    } catch {
    }
    this.writing = false;
  }
  close(code) {
    if (this.closed) return;
    this.closed = true;
    this.arrived = void 0;
    const end = () => {
      try {
        this.transport.close({ closeCode: code, reason: "" });
      } catch {
      }
    };
    if (this.unsent === 0) end();
    else setTimeout(end, closeWait);
  }
};

// src/handles.ts
var none = 0n;
function newHandle(index, generation) {
  return BigInt(generation) << 32n | BigInt(index);
}
function indexOf(h) {
  return Number(h & 0xffffffffn);
}
function generationOf(h) {
  return Number(h >> 32n);
}
var provisionalGeneration = 2;
function isProvisional(h) {
  return h >> 32n === 2n;
}
var verdicts = ["pending", "live", "hidden", "stale", "provisional"];

// src/limits.ts
var version = 4;
var maxDatagram = 1200;
var maxFrame = 65536;
var maxRows = 256;
var maxLoad = 1280;
var maxComponents = 32;
var maxFields = 64;
var maxRowBytes = 1152;
var maxStates = 32;
var maxSlots = 2 ** 24;
var maxKinds = 65536;
var maxName = 64;
var maxRoom = 64;
var maxText = 256;
var maxToken = 2048;
var maxPath = 256;
var maxArgs = 1024;
var maxTextField = 1024;
var maxTexts = 8192;
var maxSchemaText = 49152;
var maxCommandKinds = 256;
var maxEventKinds = 256;
var maxWishes = 16;
var maxView = 65535;
var maxUnanswered = 256;
var maxInputs = 16;
var maxInputBytes = 64;
var maxNesting = 16;
var maxTextFields = maxComponents * maxFields;

// src/cells.ts
var live = 1;
var hidden = 2;
var stale = 3;
var pageSize = 32;
var Cell = class {
  generation = 0;
  state = 0;
  entity;
};
var bytesOfCell = 40;
var bytesOfPointer = 8;
var Cells = class {
  pages = [];
  made = 0;
  get bytes() {
    return this.pages.length * bytesOfPointer + this.made * pageSize * bytesOfCell;
  }
  /** growth is how many bytes at will allocate. */
  growth(slot2) {
    const page = slot2 / pageSize | 0;
    const more = Math.max(page + 1 - this.pages.length, 0);
    return more * bytesOfPointer + (this.pages[page] ? 0 : pageSize * bytesOfCell);
  }
  /** at returns the cell of a slot, allocating its page. */
  at(slot2) {
    const page = slot2 / pageSize | 0;
    while (this.pages.length <= page) this.pages.push(void 0);
    let cells = this.pages[page];
    if (!cells) {
      cells = this.pages[page] = Array.from({ length: pageSize }, () => new Cell());
      this.made++;
    }
    return cells[slot2 % pageSize];
  }
  /** peek returns the cell of a slot, undefined if its page is not allocated. */
  peek(slot2) {
    return this.pages[slot2 / pageSize | 0]?.[slot2 % pageSize];
  }
  /** known yields the slots heard of, ascending, with their cells. */
  *known() {
    for (let i = 0; i < this.pages.length && i * pageSize < maxSlots; i++) {
      const page = this.pages[i];
      for (let j = 0; page && j < pageSize; j++) if (page[j].generation !== 0) yield [i * pageSize + j, page[j]];
    }
  }
};

// src/motion/columns.ts
var State = class {
  x = 0;
  y = 0;
  z = 0;
  vx = 0;
  vy = 0;
  vz = 0;
  rest = 0;
  awake = false;
  // the next tick moves it
  copy(s) {
    this.x = s.x;
    this.y = s.y;
    this.z = s.z;
    this.vx = s.vx;
    this.vy = s.vy;
    this.vz = s.vz;
    this.rest = s.rest;
    this.awake = s.awake;
    return this;
  }
};

// src/schema.ts
var Field = class {
  path;
  kind;
  /** n is the width in bits; of a quat, of each component. */
  n = 0;
  /** largest is the largest number N, 0 if the field has none. */
  largest = 0;
  always = false;
  linear = false;
  owner = false;
  low = 0;
  step = 0;
  /** values counts the uint32 values. */
  values = 1;
  /** index is that of the first value in a row or a message. */
  index = 0;
  /** component is the field's component, -1 in a message; offset is the index of its first value. */
  component = -1;
  offset = 0;
  constructor(path, kind) {
    this.path = path;
    this.kind = kind;
  }
  /** isNumber reports whether the field is a number field. */
  get isNumber() {
    return this.n <= 32 && this.kind !== "bool" && this.kind !== "float" && this.kind !== "ref" && this.kind !== "quat";
  }
  /** bits returns the bits of the field in full in its longest form. */
  get bits() {
    return this.kind === "ref" ? 1 + 2 * (2 + 32) : this.kind === "quat" ? 2 + 3 * this.n : this.n;
  }
  /** is reports whether f has the same line but for the path. */
  is(f2) {
    return this.kind === f2.kind && this.n === f2.n && this.largest === f2.largest && this.low === f2.low && this.step === f2.step && this.always === f2.always && this.linear === f2.linear && this.owner === f2.owner;
  }
  /** read reads the field in full (section 7) into out, from at on. */
  read(r, out, at) {
    if (this.kind === "ref") this.readRef(r, out, at);
    else if (this.values === 2) {
      out[at] = r.long(32);
      out[at + 1] = r.long(32);
    } else if (this.kind === "quat") out[at] = r.long(2 + 3 * this.n);
    else {
      const v = r.long(this.n);
      if (v > this.largest && this.largest > 0) r.refuse(`${this.path} is ${v}, at most ${this.largest}`);
      out[at] = v;
    }
  }
  readRef(r, out, at) {
    out[at] = out[at + 1] = 0;
    if (r.bits(1) === 0) return;
    const index = out[at] = r.sized();
    const generation = out[at + 1] = r.sized();
    if (index >= maxSlots || generation % 2 === 0) r.refuse(`${this.path} is the handle ${index}v${generation}`);
  }
  /** write writes the field in full from values, from at on. */
  write(w, values, at) {
    if (this.kind === "ref") {
      const some = values[at] !== 0 || values[at + 1] !== 0;
      w.bits(some ? 1 : 0, 1);
      if (some) {
        w.sized(values[at]);
        w.sized(values[at + 1]);
      }
    } else if (this.values === 2) {
      w.bits(values[at], 32);
      w.bits(values[at + 1], 32);
    } else w.bits(values[at], this.bits);
  }
};
function readText(f2, b) {
  if (b.length > f2.max) fail(`${f2.path} has ${b.length} bytes, at most ${f2.max}`);
  return f2.bytes ? b.slice() : decodeText(b);
}
function noText(f2) {
  return f2.bytes ? new Uint8Array(0) : "";
}
var Message = class {
  fields;
  texts;
  /** values counts the uint32 values of all fields. */
  values;
  constructor(fields, texts) {
    this.fields = fields;
    this.texts = texts;
    this.values = fields.reduce((n, f2) => n + f2.values, 0);
  }
  /** parse reads a body (section 7). */
  parse(r, b) {
    const p = { values: new Uint32Array(this.values), texts: [] };
    r.reset(b);
    for (const f2 of this.fields) f2.read(r, p.values, f2.index);
    const c = new ByteReader(b, r.endBytes());
    for (const f2 of this.texts) p.texts.push(readText(f2, c.bytes(c.uvarint(f2.path, f2.max))));
    c.expectEnd();
    return p;
  }
  /** append returns the body of a payload. */
  append(p) {
    const w = new BitWriter();
    for (const f2 of this.fields) f2.write(w, p.values, f2.index);
    const c = new ByteWriter();
    c.bytes(w.bytes());
    this.texts.forEach((f2, i) => {
      const text = p.texts[i];
      const b = typeof text === "string" ? utf82.encode(text) : text;
      if (b.length > f2.max) throw new RangeError(`${f2.path} has ${b.length} bytes, at most ${f2.max}`);
      c.uvarint(b.length);
      c.bytes(b);
    });
    return c.take();
  }
};
var utf82 = new TextEncoder();
function hashOf(text) {
  let low = 2216829733;
  let high = 3421674724;
  for (const b of utf82.encode(text)) {
    low = (low ^ b) >>> 0;
    const product2 = low * 435;
    high = high * 435 + Math.floor(product2 / 2 ** 32) + (low << 8) >>> 0;
    low = product2 >>> 0;
  }
  const hash = BigInt(high) << 32n | BigInt(low);
  return hash === 0n ? 1n : hash;
}
var keywords = /* @__PURE__ */ new Set(["component", "parent", "kind", "body", "motion", "input", "command", "answer", "event"]);
function parseSchema(text) {
  return new Parser(text).schema();
}
var isWord = (s) => s !== "" && !/[\u0000-\u0020\u007f-\u00a0]/.test(s);
var length = (s) => utf82.encode(s).length;
var longest = (f2) => (f2.max < 128 ? 1 : 2) + f2.max;
function sumOf(all, f2) {
  return all.reduce((n, x) => n + f2(x), 0);
}
var Parser = class {
  text;
  lines;
  at = 0;
  words = [];
  // of the current line
  names = /* @__PURE__ */ new Set();
  values = 0;
  rowBits = 174;
  constructor(text) {
    this.text = text;
    if (length(text) > maxSchemaText) this.wrong("longer than the limit");
    if (!text.endsWith("\n")) this.wrong("the last line has no end");
    this.lines = text.slice(0, -1).split("\n");
    if (this.lines[0] !== "worldd schema 2") this.wrong("not a schema of this version");
    this.next();
  }
  wrong(detail) {
    const line = this.lines?.[this.at];
    throw new WireError(Code.badMessage, `schema text${line === void 0 ? "" : `, line ${this.at + 1}, ${JSON.stringify(line.slice(0, 80))}`}: ${detail}`);
  }
  next() {
    this.at++;
    this.words = this.at < this.lines.length ? this.lines[this.at].split(" ") : [];
  }
  must(ok, detail) {
    if (!ok) this.wrong(detail);
  }
  schema() {
    const components = [];
    const texts = [];
    const kinds = [];
    const commands = [];
    const events = [];
    for (; this.is("component"); ) components.push(this.component(components.length, texts));
    this.must(this.rowBits <= 8 * maxRowBytes, "a row and its header may exceed the limit");
    for (; this.is("kind"); ) kinds.push(this.kind());
    const motion2 = this.is("motion") ? this.motion() : void 0;
    this.must(this.is("input"), "want the input line");
    const input = this.input();
    for (; this.is("command"); ) commands.push(this.command());
    for (; this.is("event"); ) events.push(this.event());
    this.must(this.at === this.lines.length, "a line out of place");
    this.must(commands.length <= maxCommandKinds && events.length <= maxEventKinds, "too many commands or events");
    return { text: this.text, hash: hashOf(this.text), components, values: this.values, texts, kinds, motion: motion2, input, commands, events };
  }
  is(keyword) {
    return this.words[0] === keyword;
  }
  /** take checks the number of words and goes on to the next line. */
  take(n) {
    const words2 = this.words;
    this.must(words2.length === n, `want ${n} words`);
    this.next();
    return words2;
  }
  name(section, name) {
    this.must(isWord(name) && length(name) <= maxName, "a name of this form");
    this.must(!this.names.has(`${section} ${name}`), "the name is there twice");
    this.names.add(`${section} ${name}`);
    return name;
  }
  decimal(s, least, most) {
    this.must(s !== void 0 && /^(0|[1-9]\d{0,9})$/.test(s), "want a decimal number");
    const n = Number(s);
    this.must(n >= least && n <= most, `want ${least} to ${most}`);
    return n;
  }
  hex(s, digits) {
    this.must(s !== void 0 && s.length === digits && /^[0-9a-f]+$/.test(s), `want ${digits} hexadecimal digits`);
    return s;
  }
  /** single reads a finite single without a sign bit. */
  single(s, most = Infinity) {
    const b = new DataView(new ArrayBuffer(4));
    b.setUint32(0, parseInt(this.hex(s, 8), 16));
    const x = b.getFloat32(0);
    this.must(b.getUint8(0) < 128 && Number.isFinite(x) && x <= most, "a constant out of range");
    return x;
  }
  double(s) {
    const b = new DataView(new ArrayBuffer(8));
    b.setBigUint64(0, BigInt(`0x${this.hex(s, 16)}`));
    return b.getFloat64(0);
  }
  component(index, allTexts) {
    const name = this.name("component", this.take(2)[1]);
    this.must(index < maxComponents, "too many components");
    const { fields, texts, parent, holder } = this.fields(index);
    const c = { name, index, fields, texts, parent, holder };
    allTexts.push(...texts);
    this.must(sumOf(allTexts, longest) <= maxTexts, "the texts of an entity may exceed the limit");
    this.rowBits += longestPart(c) + (name === "body" ? 390 : 0);
    return c;
  }
  /** fields reads the fields of a component, or of a message if component is -1. */
  fields(component) {
    const all = { fields: [], texts: [], parent: "", holder: 0 };
    const paths = /* @__PURE__ */ new Set();
    let value = component < 0 ? 0 : this.values;
    for (; this.words.length > 0; this.next()) {
      const path = this.words[0];
      if (path === "parent" && component >= 0 && all.parent === "" && all.texts.length === 0) {
        this.parent(all);
        continue;
      }
      if (keywords.has(path)) break;
      this.must(isWord(path) && length(path) <= maxPath && !paths.has(path), "a path of this form, or twice");
      paths.add(path);
      if (this.words[1] === "string" || this.words[1] === "bytes") all.texts.push(this.textField(component));
      else {
        this.must(all.texts.length === 0 && all.parent === "", "fields precede parent and texts");
        const f2 = this.field(component);
        this.follows(all.fields, f2);
        f2.index = value;
        f2.offset = component < 0 ? 0 : this.values;
        value += f2.values;
        all.fields.push(f2);
      }
      this.must(all.fields.length + all.texts.length <= maxFields, "too many fields");
    }
    if (component >= 0) this.values = value;
    return all;
  }
  /** follows checks that an element of an array is like the one before it. */
  follows(before2, f2) {
    const m = /^(.*)\[(\d+)\]$/.exec(f2.path);
    if (m === null || m[2] === "0") return;
    const last = before2.at(-1);
    this.must(m[2][0] !== "0" && last !== void 0 && last.path === `${m[1]}[${BigInt(m[2]) - 1n}]` && last.is(f2), "an element does not follow the one before, or is not like it");
  }
  textField(component) {
    const w = this.words;
    const owner = w.length === 4 && w[3] === "owner" && component >= 0;
    this.must(w.length === 3 || owner, "want PATH string N");
    return { path: w[0], bytes: w[1] === "bytes", max: this.decimal(w[2], 1, maxTextField), owner, component };
  }
  field(component) {
    const w = this.words;
    const f2 = new Field(w[0], w[1]);
    f2.component = component;
    let at = this.kindOf(f2, w);
    const option = (name) => {
      const has = w[at] === name;
      if (has) at++;
      return has;
    };
    f2.always = option("always");
    f2.linear = !f2.always && option("linear");
    f2.owner = option("owner");
    this.must(at === w.length, "unknown attributes");
    this.must(component >= 0 || !(f2.always || f2.linear || f2.owner), "attributes are for components");
    this.must(!f2.linear || f2.isNumber || f2.kind === "quat", "linear is for numbers and quat");
    return f2;
  }
  /** kindOf reads a KIND and returns the number of words read. */
  kindOf(f2, w) {
    switch (f2.kind) {
      case "bool":
        f2.n = 1;
        return 2;
      case "ref":
        f2.values = 2;
        return 2;
      case "range":
        this.range(f2, w);
        return 5;
      case "float":
        this.must(w[2] === "32" || w[2] === "64", "want 32 or 64 bits");
        f2.n = Number(w[2]);
        break;
      case "uint":
      case "int":
        f2.n = w[2] === "64" ? 64 : this.decimal(w[2], 1, 32);
        break;
      case "angle":
        f2.n = this.decimal(w[2], 1, 32);
        break;
      case "quat":
        f2.n = this.decimal(w[2], 2, 10);
        break;
      case "enum":
        f2.largest = this.decimal(w[2], 2, 65535) - 1;
        f2.n = 32 - Math.clz32(f2.largest);
        return 3;
      default:
        this.wrong("unknown kind");
    }
    if (f2.n === 64) f2.values = 2;
    else if (f2.kind !== "float") f2.largest = 2 ** f2.n - 1;
    return 3;
  }
  range(f2, w) {
    f2.low = this.double(w[2]);
    f2.step = this.double(w[3]);
    f2.largest = this.decimal(w[4], 1, 2 ** 32 - 2);
    f2.n = 32 - Math.clz32(f2.largest);
    const ok = Number.isFinite(f2.low) && !Object.is(f2.low, -0) && f2.step > 0 && Number.isFinite(f2.step) && Number.isFinite(f2.low + f2.largest * f2.step);
    this.must(ok, "a range that is not finite");
  }
  parent(all) {
    const w = this.words;
    this.must(w.length === 3, "want parent PATH HANDLE");
    const i = all.fields.findIndex((f2) => f2.path === w[1]);
    const holder = all.fields.find((f2) => f2.path === w[2]);
    this.must(i >= 0 && isVector(all.fields, i) && all.fields[i].linear, "the parent line names no linear vector");
    this.must(holder?.kind === "ref", "the parent line names no ref");
    this.must(!all.fields.some((f2) => f2.owner), "a component with a parent line has fields for owners");
    all.parent = w[1];
    all.holder = holder.index;
  }
  kind() {
    const name = this.name("kind", this.take(2)[1]);
    return this.is("body") ? { name, body: this.body() } : { name };
  }
  body() {
    const w = this.take(7);
    return {
      inverseMass: this.single(w[1]),
      coupling: this.single(w[2], 1),
      radius: this.single(w[3]),
      friction: this.single(w[4]),
      restitution: this.single(w[5], 1),
      layers: parseInt(this.hex(w[6], 8), 16)
    };
  }
  motion() {
    const w = this.take(10);
    const bounds = w[9];
    if (bounds !== "clamp" && bounds !== "bounce" && bounds !== "destroy") this.wrong("unknown bounds");
    return {
      tickHz: this.decimal(w[1], 1, 65535),
      gravity: this.single(w[2]),
      maxSpeed: this.single(w[3]),
      halfX: this.single(w[4]),
      height: this.single(w[5]),
      halfZ: this.single(w[6]),
      restSpeed: this.single(w[7]),
      restTicks: this.decimal(w[8], 0, 2 ** 32 - 1),
      bounds
    };
  }
  message(most) {
    const { fields, texts } = this.fields(-1);
    const bits = sumOf(fields, (f2) => f2.bits);
    this.must((bits + 7 >> 3) + sumOf(texts, longest) <= most, `a message may exceed ${most} bytes`);
    return new Message(fields, texts);
  }
  input() {
    if (this.words.length === 2 && this.words[1] === "raw") {
      this.next();
      return void 0;
    }
    this.take(1);
    return this.message(maxInputBytes);
  }
  command() {
    const raw = this.words.length === 3 && this.words[2] === "raw";
    const name = this.name("command", this.take(raw ? 3 : 2)[1]);
    if (raw) return { name };
    const args = this.message(maxArgs);
    if (!this.is("answer")) return { name, args };
    this.take(1);
    return { name, args, answer: this.message(maxArgs) };
  }
  event() {
    const unreliable = this.words.length === 3 && this.words[2] === "unreliable";
    const name = this.name("event", this.take(unreliable ? 3 : 2)[1]);
    return { name, unreliable, message: this.message(maxArgs) };
  }
};
function isVector(fields, i) {
  const f2 = fields[i];
  if (f2.kind !== "range" || f2.always || !f2.path.endsWith("[0]")) return false;
  const stem = f2.path.slice(0, -2);
  return fields[i + 2]?.path === `${stem}2]` && fields[i + 3]?.path !== `${stem}3]`;
}
function unitsOf(c, owned) {
  const units = [];
  let hasPosition = false;
  for (let at = 0; at < c.fields.length; ) {
    const f2 = c.fields[at];
    let fields = 1;
    if (f2.owner && !owned) {
      at++;
      continue;
    }
    let letter = "f";
    let radix = 2;
    if (f2.always) {
      letter = "a";
      radix = 1;
    } else if (f2.kind === "bool") letter = "b";
    else if (f2.kind === "quat") {
      letter = f2.linear ? "Q" : "q";
      radix = 5;
    } else if (isVector(c.fields, at)) {
      fields = 3;
      letter = f2.linear ? "V" : "v";
      if (f2.linear && !hasPosition && (c.parent === "" || c.parent === f2.path)) {
        letter = "P";
        radix = 5;
        hasPosition = true;
      }
    } else if (f2.isNumber && f2.n > 4) letter = f2.linear ? "N" : "n";
    units.push({ letter, at, fields, radix });
    at += fields;
  }
  return units;
}
function groupsOf(radices) {
  const ends = [];
  let product2 = 1;
  radices.forEach((radix, i) => {
    if (product2 * radix > 128) {
      ends.push(i);
      product2 = 1;
    }
    product2 *= radix;
  });
  if (product2 > 1) ends.push(radices.length);
  return ends;
}
function longestPart(c) {
  const full = 1 + sumOf(c.fields, (f2) => f2.bits);
  const units = unitsOf(c, true);
  let coded = 12 * groupsOf(units.map((u) => u.radix)).length;
  for (const u of units) {
    const f2 = c.fields[u.at];
    if (u.letter === "a" || u.letter === "f") coded += f2.bits;
    else if (u.letter !== "b") coded += (f2.kind === "quat" ? 3 : u.fields) * (12 + Math.max(f2.n, 19));
  }
  return Math.max(full, coded);
}

// src/values.ts
var words = new Uint32Array(2);
var single = new Float32Array(words.buffer);
var double = new Float64Array(words.buffer);
var fullTurn = 2 * Math.PI;
function numberOf(f2, values, at) {
  const v = values[at];
  switch (f2.kind) {
    case "range":
      return f2.low + v * f2.step;
    case "int":
      return f2.n === 64 ? Number(bigintOf(f2, values, at)) : signed(v, f2.n);
    case "uint":
      return f2.n === 64 ? v + values[at + 1] * 2 ** 32 : v;
    case "angle":
      return signed(v, f2.n) / 2 ** f2.n * fullTurn;
    case "float":
      words[0] = v;
      if (f2.n === 32) return single[0];
      words[1] = values[at + 1];
      return double[0];
  }
  return v;
}
function signed(v, n) {
  return v << 32 - n >> 32 - n;
}
function bigintOf(f2, values, at) {
  const v = BigInt(values[at + 1]) << 32n | BigInt(values[at]);
  return f2.kind === "int" ? BigInt.asIntN(64, v) : v;
}
function quaternionOf(f2, value, q) {
  const N = 2 ** f2.n - 1;
  const largest = value & 3;
  let v = value >>> 2;
  let rest = 1;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const x = (2 * (v & N) / N - 1) * Math.SQRT1_2;
    v >>>= f2.n;
    rest -= x * x;
    q[i] = x;
  }
  q[largest] = Math.sqrt(Math.max(rest, 0));
  return q;
}
function valueOf(f2, values, at) {
  switch (f2.kind) {
    case "bool":
      return values[at] !== 0;
    case "ref":
      return newHandle(values[at], values[at + 1]);
    case "quat":
      return quaternionOf(f2, values[at], [0, 0, 0, 1]);
  }
  return f2.n === 64 && f2.kind !== "float" ? bigintOf(f2, values, at) : numberOf(f2, values, at);
}
function quantise(f2, v, out, at) {
  out.fill(0, at, at + f2.values);
  if (v === void 0 || v === null) v = f2.kind === "range" ? 0 : void 0;
  if (v === void 0) return;
  if (f2.kind === "ref") quantiseHandle(v, out, at);
  else if (f2.kind === "quat") out[at] = smallestThree(f2, v);
  else if (f2.values === 2 && f2.kind !== "float") {
    const b = BigInt.asUintN(64, BigInt(v));
    out[at] = Number(b & 0xffffffffn);
    out[at + 1] = Number(b >> 32n);
  } else quantiseNumber(f2, Number(v), out, at);
}
function quantiseNumber(f2, v, out, at) {
  const clamp2 = (n, least, most) => n >= least ? Math.min(n, most) : least;
  switch (f2.kind) {
    case "bool":
      out[at] = v ? 1 : 0;
      break;
    case "range":
      out[at] = clamp2(Math.floor(((v === v ? v : 0) - f2.low) / f2.step + 0.5), 0, f2.largest);
      break;
    case "float":
      if (f2.n === 32) single[0] = v;
      else double[0] = v;
      out.set(f2.n === 32 ? words.subarray(0, 1) : words, at);
      break;
    case "angle": {
      const turn2 = v / fullTurn - Math.floor(v / fullTurn);
      out[at] = turn2 === turn2 ? Math.floor(turn2 * 2 ** f2.n + 0.5) % 2 ** f2.n : 0;
      break;
    }
    case "int":
      out[at] = (clamp2(Math.trunc(v), -(2 ** (f2.n - 1)), 2 ** (f2.n - 1) - 1) & 2 ** f2.n - 1) >>> 0;
      break;
    default:
      out[at] = clamp2(Math.trunc(v), 0, f2.largest);
  }
}
function quantiseHandle(h, out, at) {
  const index = indexOf(h);
  const generation = generationOf(h);
  const entity = generation % 2 === 1 && index < maxSlots;
  const provisional = generation % 2 === 0 && generation > 0;
  if (!entity && !provisional) return;
  out[at] = index;
  out[at + 1] = generation;
}
function smallestThree(f2, q) {
  let largest = 0;
  for (let i = 1; i < 4; i++) if (Math.abs(q[i]) > Math.abs(q[largest])) largest = i;
  if (!(Math.abs(q[largest]) > 0)) return smallestThree(f2, [0, 0, 0, 1]);
  const N = 2 ** f2.n - 1;
  const sign = q[largest] < 0 ? -1 : 1;
  let packed = largest;
  let place = 4;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const n = Math.floor((q[i] * sign * Math.SQRT2 + 1) * N / 2 + 0.5);
    packed += Math.max(0, Math.min(n, N)) * place;
    place *= N + 1;
  }
  return packed;
}
function blend(f2, a, from, to, ratio) {
  const near2 = ratio >= 1 ? to : from;
  if (ratio <= 0 || ratio >= 1 && !f2.linear) return numberOf(f2, a, near2);
  switch (f2.kind) {
    case "range": {
      const n = a[from] + (a[to] - a[from]) * ratio;
      return f2.low + Math.min(Math.max(n, 0), f2.largest) * f2.step;
    }
    case "angle": {
      const way = signed(a[to] - a[from], f2.n) / 2 ** f2.n;
      const v = a[from] / 2 ** f2.n + way * ratio;
      return (v - Math.floor(v + 0.5)) * fullTurn;
    }
    case "float": {
      const x = numberOf(f2, a, from);
      const v = x + (numberOf(f2, a, to) - x) * ratio;
      return Number.isFinite(v) ? v : x;
    }
  }
  return numberOf(f2, a, near2);
}
var q0 = [0, 0, 0, 1];
var q1 = [0, 0, 0, 1];
function blendQuaternion(f2, a, from, to, ratio, q) {
  if (ratio <= 0 || ratio >= 1 && !f2.linear) return quaternionOf(f2, a[ratio >= 1 ? to : from], q);
  quaternionOf(f2, a[from], q0);
  quaternionOf(f2, a[to], q1);
  const sign = q0[0] * q1[0] + q0[1] * q1[1] + q0[2] * q1[2] + q0[3] * q1[3] < 0 ? -1 : 1;
  let length2 = 0;
  for (let i = 0; i < 4; i++) {
    q[i] = q0[i] + (q1[i] * sign - q0[i]) * ratio;
    length2 += q[i] * q[i];
  }
  length2 = Math.sqrt(length2);
  for (let i = 0; i < 4; i++) q[i] /= length2;
  return q;
}
function partsOf(path) {
  return path.split(/[.[\]]+/).filter((s) => s !== "").map((s) => /^\d+$/.test(s) ? Number(s) : s);
}
var Shape = class {
  parts;
  textParts;
  fields;
  texts;
  constructor(fields, texts) {
    this.fields = fields;
    this.texts = texts;
    this.parts = fields.map((f2) => partsOf(f2.path));
    this.textParts = texts.map((f2) => partsOf(f2.path));
  }
  /** make returns a struct of what value and text give for each number of a field. */
  make(value, text) {
    const root2 = /* @__PURE__ */ Object.create(null);
    this.parts.forEach((parts, i) => assign(root2, parts, value(i)));
    this.textParts.forEach((parts, i) => assign(root2, parts, text(i)));
    return root2;
  }
  /** value returns field i of a struct. */
  value(root2, i) {
    return find(root2, this.parts[i]);
  }
  /** set sets field i of a struct, setText text field i. */
  set(root2, i, v) {
    assign(root2, this.parts[i], v);
  }
  setText(root2, i, v) {
    assign(root2, this.textParts[i], v);
  }
  /** restore returns the struct of a quantised message. */
  restore(p) {
    return this.make((i) => valueOf(this.fields[i], p.values, this.fields[i].index), (i) => p.texts[i]);
  }
  /** quantise returns the values and texts of a struct. Fields that it lacks are 0 or empty. */
  quantise(from, values) {
    const out = new Uint32Array(values);
    this.fields.forEach((f2, i) => quantise(f2, find(from, this.parts[i]), out, f2.index));
    const texts = this.texts.map((f2, i) => find(from, this.textParts[i]) ?? noText(f2));
    return { values: out, texts };
  }
};
function assign(root2, parts, v) {
  let at = root2;
  for (let i = 0; i < parts.length - 1; i++) {
    let next = Object.hasOwn(at, parts[i]) ? at[parts[i]] : void 0;
    if (typeof next !== "object") {
      next = typeof parts[i + 1] === "number" ? [] : /* @__PURE__ */ Object.create(null);
      Object.defineProperty(at, parts[i], { value: next, enumerable: true, configurable: true, writable: true });
    }
    at = next;
  }
  if (parts.length > 0) Object.defineProperty(at, parts[parts.length - 1], { value: v, enumerable: true, configurable: true, writable: true });
}
function find(root2, parts) {
  let at = root2;
  for (const part of parts) {
    if (at === void 0 || at === null) return void 0;
    at = at[part];
  }
  return at;
}

// src/entity.ts
var Layout = class {
  schema;
  shapes;
  /** body is the number of the component body, -1 without one. */
  body;
  components = /* @__PURE__ */ new Map();
  constructor(schema2) {
    this.schema = schema2;
    this.shapes = schema2.components.map((c) => new Shape(c.fields, c.texts));
    for (const c of schema2.components) this.components.set(c.name, c);
    this.body = this.components.get("body")?.index ?? -1;
  }
  component(name) {
    return this.components.get(name);
  }
};
var roomToMove = 4;
var Entity = class {
  handle;
  index;
  generation;
  layout;
  /** kind is the number of the entity's kind. */
  kind = 0;
  /** mask has a bit for each component that the entity has. */
  mask = 0;
  /** owned says that this client owns the entity and receives its owner fields. */
  owned = false;
  /** texts are all text fields by number; empty if they were not sent. */
  texts = [];
  /** tick is that of the current state. */
  tick = 0;
  /** @internal */
  entered = 0;
  // number of its Enter
  /** @internal */
  load = 0;
  /** @internal */
  place = 0;
  // in Replica.entities
  // One list: the ticks of all states, the ticks from which they are blended in, their values.
  list;
  room = 1;
  count = 1;
  newest = 0;
  // index of the current state
  named = 0;
  // highest tick named as older
  floor = 0;
  // named, one naming earlier
  from = 0;
  // indexes of the values that at found
  to = 0;
  ratio = 0;
  bodies;
  /** @internal */
  constructor(index, generation, layout, bodies) {
    this.handle = newHandle(index, generation);
    this.index = index;
    this.generation = generation;
    this.layout = layout;
    this.bodies = bodies;
  }
  /** kindName is the name of the kind; one that was added later has none. */
  get kindName() {
    return this.layout.schema.kinds[this.kind]?.name ?? `kind ${this.kind}`;
  }
  /** values is a copy of the current state's values, in the row layout of the schema. */
  get values() {
    const at = this.valuesAt(this.newest);
    return this.list.slice(at, at + this.layout.schema.values);
  }
  /** @internal copyValues copies values to out. */
  copyValues(out) {
    const at = this.valuesAt(this.newest);
    for (let i = 0; i < out.length; i++) out[i] = this.list[at + i];
  }
  /** has reports whether the entity has a component. */
  has(component) {
    const c = this.layout.component(component);
    return c !== void 0 && (this.mask >>> c.index & 1) === 1;
  }
  /** get returns the newest state of a component as a struct, undefined if the entity lacks it. It allocates. */
  get(component) {
    const s = this.computed(component, this.layout.body);
    return this.struct(component, (f2, at) => s ? coordinate(s, f2) : valueOf(f2, this.list, at + f2.index), this.newest);
  }
  /** at returns a component at a moment, as a struct: see numberAt. It allocates. */
  at(component, m) {
    this.find(m);
    const s = this.computedAt(component, this.layout.body, m);
    return this.struct(component, (f2) => {
      if (s) return coordinate(s, f2);
      if (f2.kind === "quat") return blendQuaternion(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio, [0, 0, 0, 1]);
      if (f2.kind === "bool" || f2.kind === "ref" || f2.n === 64 && f2.kind !== "float") return valueOf(f2, this.list, (this.ratio >= 1 ? this.to : this.from) + f2.index);
      return blend(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio);
    }, this.newest);
  }
  struct(component, value, state) {
    const c = this.layout.component(component);
    if (c === void 0 || (this.mask >>> c.index & 1) === 0) return void 0;
    const at = this.valuesAt(state);
    const first = this.layout.schema.texts.indexOf(c.texts[0]);
    return this.layout.shapes[c.index].make((i) => value(c.fields[i], at), (i) => this.texts[first + i]);
  }
  /** number returns the newest value of a field without allocating, 0 if the entity lacks it. */
  number(f2) {
    const s = this.computed("body", f2.component);
    if (s) return coordinate(s, f2);
    return numberOf(f2, this.list, this.valuesAt(this.newest) + f2.index);
  }
  /**
   * numberAt returns a field at a moment without allocating. Between two states ranges and
   * floats change linearly, angles along the shorter arc, and all else when its state is reached.
   * If snapshots stop, linear fields are extrapolated for a quarter second.
   */
  numberAt(f2, m) {
    const s = this.computedAt("body", f2.component, m);
    if (s) return coordinate(s, f2);
    this.find(m);
    return blend(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio);
  }
  /** vectorAt writes n fields from f on, at a moment, to out, from i on: a position is 3. */
  vectorAt(f2, n, m, out, i = 0) {
    const fields = this.layout.schema.components[f2.component].fields;
    const first = fields.indexOf(f2);
    const s = this.computedAt("body", f2.component, m);
    if (!s) this.find(m);
    for (let k = 0; k < n; k++) {
      const g = fields[first + k];
      out[i + k] = s ? coordinate(s, g) : blend(g, this.list, this.from + g.index, this.to + g.index, this.ratio);
    }
  }
  /** quaternionAt writes a quat at a moment to q, and returns it. */
  quaternionAt(f2, m, q) {
    this.find(m);
    return blendQuaternion(f2, this.list, this.from + f2.index, this.to + f2.index, this.ratio, q);
  }
  /** reference returns the handle in a ref field, in the newest state. */
  reference(f2) {
    const at = this.valuesAt(this.newest) + f2.index;
    return newHandle(this.list[at], this.list[at + 1]);
  }
  /** isComputed says that the client computes the entity's body. */
  get isComputed() {
    return this.bodies?.isComputed(this.index) ?? false;
  }
  /** computed returns the newest state of the entity's body, if the client computes it and that is the component. */
  computed(name, component) {
    const { bodies, layout } = this;
    if (!bodies || name !== "body" || component !== layout.body) return void 0;
    return bodies.exact(this.index, now) === 0 ? void 0 : now;
  }
  /** computedAt is computed at a moment. */
  computedAt(name, component, m) {
    const { bodies, layout } = this;
    if (!bodies || name !== "body" || component !== layout.body) return void 0;
    return bodies.at(this.index, m.tick, m.maxExtrapolate, now, before, after) ? now : void 0;
  }
  /** find sets from, to and ratio: the states to blend at a moment. */
  find(m) {
    let before2 = -1;
    let after2 = -1;
    const whole = Math.max(Math.floor(m.tick), 0);
    for (let i = 0; i < this.count; i++) {
      const t = this.list[i];
      if (t <= whole) {
        if (before2 < 0 || t > this.list[before2]) before2 = i;
      } else if (after2 < 0 || t < this.list[after2]) after2 = i;
    }
    this.ratio = 0;
    if (before2 < 0) before2 = after2;
    else if (after2 < 0) {
      after2 = before2;
      before2 = this.preceding(after2);
      const last = this.list[after2];
      if (before2 < 0 || last < m.newest || m.tick <= last) before2 = after2;
      else this.ratio = 1 + Math.min(m.tick - last, m.maxExtrapolate) / (last - this.list[before2]);
    } else {
      const first = Math.max(this.list[before2], this.list[this.room + after2]);
      this.ratio = Math.max(m.tick - first, 0) / (this.list[after2] - first);
    }
    this.from = this.valuesAt(before2);
    this.to = this.valuesAt(after2);
  }
  /** preceding returns the newest state before state i, or -1. */
  preceding(i) {
    let found = -1;
    for (let j = 0; j < this.count; j++) {
      if (this.list[j] < this.list[i] && (found < 0 || this.list[j] > this.list[found])) found = j;
    }
    return found;
  }
  /** @internal begin starts the entity's life in view with one state, whose list is 2 values longer. */
  begin(list, tick) {
    this.list = list;
    list[0] = tick;
    list[1] = 0;
    this.tick = tick;
    this.room = this.count = 1;
    this.newest = this.named = this.floor = 0;
  }
  /** @internal all is the list of states. */
  get all() {
    return this.list;
  }
  /** @internal bytes is the memory of the states. */
  get bytes() {
    return this.list.byteLength;
  }
  /** @internal growth is how many bytes the next add allocates at most. */
  get growth() {
    return this.count < this.room ? 0 : (this.larger - this.room) * 4 * (2 + this.layout.schema.values);
  }
  get larger() {
    return Math.min(Math.max(2 * this.room, roomToMove), maxStates);
  }
  /** @internal valuesAt returns where in all the values of state i begin. */
  valuesAt(i) {
    return 2 * this.room + i * this.layout.schema.values;
  }
  /** @internal state returns the index of the state of a tick, or -1. */
  state(tick) {
    for (let i = 0; i < this.count; i++) if (this.list[i] === tick) return i;
    return -1;
  }
  /** @internal noteBaseline notes that the server named the state of tick as the older of two. */
  noteBaseline(tick) {
    if (tick > this.named) {
      this.floor = this.named;
      this.named = tick;
    }
  }
  /**
   * @internal add stores a state, and returns whether it became the current one. States older
   * than the server's older baseline may be overwritten, unless one of the last span ticks.
   */
  add(tick, blendFrom, values, at, span) {
    if (tick < this.floor) return false;
    let oldest = 0;
    for (let i2 = 0; i2 < this.count; i2++) {
      const t = this.list[i2];
      if (t === tick) return false;
      if (t < this.list[oldest]) oldest = i2;
    }
    let i = oldest;
    if (this.list[oldest] >= this.floor || this.list[oldest] + span >= tick) {
      if (this.count < maxStates) {
        if (this.count === this.room) this.grow();
        i = this.count++;
      } else if (tick < this.list[oldest]) return false;
    }
    this.list[i] = tick;
    this.list[this.room + i] = blendFrom;
    const to = this.valuesAt(i);
    for (let k = 0, n = this.layout.schema.values; k < n; k++) this.list[to + k] = values[at + k];
    if (tick <= this.tick) return false;
    this.newest = i;
    this.tick = tick;
    return true;
  }
  grow() {
    const old = this.list;
    const from = this.room;
    const to = this.larger;
    const list = new Uint32Array(to * (2 + this.layout.schema.values));
    list.set(old.subarray(0, from));
    list.set(old.subarray(from, 2 * from), to);
    list.set(old.subarray(2 * from), 2 * to);
    this.list = list;
    this.room = to;
  }
};
var now = new State();
var before = new State();
var after = new State();
function coordinate(s, f2) {
  switch (f2.index - f2.offset) {
    case 0:
      return s.x;
    case 1:
      return s.y;
    case 2:
      return s.z;
    case 3:
      return s.vx;
    case 4:
      return s.vy;
  }
  return s.vz;
}

// src/tables.ts
var magic = "worldd tables 4\n";
var maxCodeBits = 12;
var residualSymbols = 43;
var lanes = 8;
var scales = 32;
var contexts = 48;
var Code2 = class {
  lengths;
  entries;
  // by the next bits: symbol · 16 + length
  mask = 0;
  constructor(lengths) {
    this.lengths = lengths;
  }
  /** entry returns symbol · 16 + length of the code that the bits begin with, first bit lowest. */
  entry(bits) {
    const entries = this.entries ?? this.build();
    return entries[bits & this.mask];
  }
  /** build makes the entries at the first use: most codes of a file are never used. */
  build() {
    const longest2 = this.lengths.reduce((a, b) => Math.max(a, b));
    const entries = new Uint16Array(1 << longest2);
    let code = 0;
    for (let n = 1; n <= longest2; n++, code <<= 1) {
      for (let symbol = 0; symbol < this.lengths.length; symbol++) {
        if (this.lengths[symbol] !== n) continue;
        for (let i = reverse(code, n); i < entries.length; i += 1 << n) entries[i] = symbol * 16 + n;
        code++;
      }
    }
    this.mask = entries.length - 1;
    return this.entries = entries;
  }
};
function reverse(v, n) {
  let r = 0;
  for (let i = 0; i < n; i++) r |= (v >> i & 1) << n - 1 - i;
  return r;
}
var Tables = class {
  /** version is FNV-1a of the file, 32 bits. */
  version;
  sets = [];
  ofShape = /* @__PURE__ */ new Map();
  zones = /* @__PURE__ */ new Map();
  heads = /* @__PURE__ */ new Map();
  /** The file is one of the server's worldd train, or defaultTables'. */
  constructor(file) {
    this.version = versionOf(file);
    for (let i = 0; i < magic.length; i++) if (file[i] !== magic.charCodeAt(i)) fail("not a file of tables of this version");
    const r = new ByteReader(file, magic.length);
    const sets = r.uvarint("sets", 64);
    if (sets === 0) fail("tables without a set");
    for (let i = 0; i < sets; i++) this.readSet(r);
    for (let n = r.uvarint("zone bounds", 256); n > 0; n--) {
      const shape = readShape(r);
      const bounds = { axis: r.u8(), first: r.uvarint("bound"), second: r.uvarint("bound") };
      if (bounds.axis > 2) fail(`zone bounds along axis ${bounds.axis}`);
      if (!this.zones.has(shape)) this.zones.set(shape, bounds);
    }
    for (let n = r.uvarint("heads", 256); n > 0; n--) this.readHead(r);
    r.expectEnd();
  }
  readSet(r) {
    const shapes = [];
    for (let n = r.uvarint("shapes", 64); n > 0; n--) shapes.push(readShape(r));
    const set = { weights: readWeights(r, 4 * 4 * 5 * 15), scales: readWeights(r, lanes * 4 * 5 * 12), residuals: [] };
    for (let i = 0; i < lanes * scales; i++) set.residuals.push(readCode(r, residualSymbols));
    this.sets.push(set);
    for (const shape of shapes) if (!this.ofShape.has(shape)) this.ofShape.set(shape, set);
  }
  readHead(r) {
    const shape = readShape(r);
    const group = r.u8();
    const symbols = r.u8();
    if (symbols < 2 || symbols > 128) fail(`a head of ${symbols} symbols`);
    const codes = Array.from({ length: contexts }, () => readCode(r, symbols));
    const key = `${group} ${symbols} ${shape}`;
    if (!this.heads.has(key)) this.heads.set(key, codes);
  }
  /** setOf returns the set that codes a shape. */
  setOf(shape) {
    return this.ofShape.get(shape) ?? this.sets[0];
  }
  zonesOf(shape) {
    return this.zones.get(shape);
  }
  /** headsOf returns the codes of a group by context. */
  headsOf(shape, group, symbols) {
    const codes = this.heads.get(`${group} ${symbols} ${shape}`);
    if (codes) return codes;
    const common = commonHead(symbols);
    return Array.from({ length: contexts }, () => common);
  }
};
function commonHead(symbols) {
  const u = symbols - 1;
  const log = 31 - Math.clz32(u);
  const lengths = new Uint8Array(symbols).fill(1 + log, 1);
  lengths[0] = 1;
  lengths.fill(2 + log, symbols - 2 * (u - 2 ** log));
  return new Code2(lengths);
}
function readShape(r) {
  return String.fromCharCode(...r.bytes(r.u8()));
}
function readWeights(r, n) {
  const weights = new Int16Array(n);
  for (let i = 0; i < n; i++) {
    const v = r.uvarint("weight", 8192);
    weights[i] = v & 1 ? -(v >> 1) - 1 : v >> 1;
    if (Math.abs(weights[i]) > 4096) fail(`a weight of ${weights[i]}`);
  }
  return weights;
}
function readCode(r, symbols) {
  const lengths = r.bytes(symbols);
  let room = 1 << maxCodeBits;
  for (const n of lengths) {
    if (n < 1 || n > maxCodeBits) fail(`a code of ${n} bits`);
    room -= 1 << maxCodeBits - n;
  }
  if (room !== 0) fail("the lengths of a code are not complete");
  return new Code2(lengths);
}
function versionOf(b) {
  let h = 2166136261;
  for (const c of b) h = Math.imul(h ^ c, 16777619);
  return h >>> 0;
}
var defaults;
function defaultTables() {
  return defaults ??= unpack().then(
    (file) => new Tables(file),
    (e) => {
      defaults = void 0;
      throw e;
    }
  );
}
async function unpack() {
  const { packedTables: packedTables2 } = await Promise.resolve().then(() => (init_tables_data(), tables_data_exports));
  const packed = Uint8Array.from(atob(packedTables2), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// src/rows.ts
var maxDoubleN = 2 ** 21;
var escape = 42;
var maxRatio = 32 * 2 ** 16;
var Past = class {
  age = 0;
  gap = 0;
  values;
  // of base and older
  base = 0;
  older = -1;
  // -1: none
  /** anchor is the component that the anchor is for, -1 without one. */
  anchor = -1;
  anchorNow;
  now = 0;
  anchorPast;
  anchorBase = 0;
  anchorOlder = -1;
  /** ratio is r of section 3. */
  ratio() {
    return this.older < 0 ? 0 : Math.min(Math.floor(this.age * 2 ** 16 / this.gap), maxRatio);
  }
};
var Unit = class {
  letter;
  field;
  index;
  // of the first value
  fields;
  radix;
  n;
  largest;
  ring;
  linear;
  clamps;
  // predictions, in place of a ring
  constructor(letter, f2, fields, radix) {
    this.letter = letter.toLowerCase();
    this.field = f2;
    this.index = f2.index;
    this.fields = fields;
    this.radix = radix;
    this.n = f2.n;
    this.largest = f2.kind === "quat" ? 2 ** f2.n - 1 : f2.largest;
    this.ring = this.largest + 1;
    this.linear = f2.linear;
    this.clamps = f2.kind === "range";
  }
};
var Part = class {
  component;
  units;
  groups;
  position;
  rotation;
  flag;
  // index of its value, -1: none
  set;
  zones;
  wide;
  /** fields are all that the receiver gets. */
  fields;
  constructor(c, owned, tables) {
    const units = unitsOf(c, owned);
    const shape = units.map((u) => u.letter).join("");
    this.component = c.index;
    this.units = units.map((u) => new Unit(u.letter, c.fields[u.at], u.fields, u.radix));
    let first = 0;
    this.groups = groupsOf(units.map((u) => u.radix)).map((last, g) => {
      const symbols = this.units.slice(first, last).reduce((product2, u) => product2 * u.radix, 1);
      const group = { first, last, heads: tables.headsOf(shape, g, symbols) };
      first = last;
      return group;
    });
    this.position = this.units.find((u) => u.letter === "p");
    this.rotation = this.units.find((u) => u.letter === "q");
    this.flag = this.units.find((u) => u.letter === "b")?.index ?? -1;
    this.set = tables.setOf(shape);
    this.zones = this.position && tables.zonesOf(shape);
    this.wide = c.parent !== "" && this.position !== void 0 && this.position.largest > maxDoubleN;
    this.fields = c.fields.filter((f2) => owned || !f2.owner);
  }
};
var Codec = class {
  schema;
  /** received is by component. */
  received;
  parts;
  // of others, of owners
  digits = new Uint8Array(64);
  // The component being read.
  r;
  past;
  ratio = 0;
  set;
  zone = 3;
  attached = 3;
  speed = 0;
  moves = 0;
  margin = 3;
  largest = 0;
  // component of facing
  missed = 0;
  missedTurn = 0;
  feature = new Int32Array(12);
  own = new Float64Array(3);
  followed = new Float64Array(3);
  mismatch = new Float64Array(3);
  expected = new Float64Array(3);
  facing = new Float64Array(4);
  onward = new Float64Array(4);
  before = new Float64Array(4);
  // Scratch for rotations and vectors.
  q0 = new Float64Array(4);
  q1 = new Float64Array(4);
  q2 = new Float64Array(4);
  q3 = new Float64Array(4);
  turn = new Float64Array(4);
  ride = new Float64Array(4);
  twist = new Float64Array(4);
  v0 = new Float64Array(3);
  v1 = new Float64Array(3);
  constructor(schema2, tables) {
    this.schema = schema2;
    this.received = schema2.components.map(() => ({ rows: 0, bits: 0 }));
    this.parts = [schema2.components.map((c) => new Part(c, false, tables)), schema2.components.map((c) => new Part(c, true, tables))];
  }
  /** readMask reads the mask of a full row. */
  readMask(r) {
    return r.long(this.schema.components.length);
  }
  /** readFull reads a row in full (PROTOCOL.md, section 7) into out, from at on. Absent values are 0. */
  readFull(r, mask, owned, out, at) {
    out.fill(0, at, at + this.schema.values);
    for (const part of this.parts[owned ? 1 : 0]) {
      if ((mask >>> part.component & 1) === 0) continue;
      const from = r.taken;
      for (const f2 of part.fields) f2.read(r, out, at + f2.index);
      this.count(part.component, r.taken - from);
    }
  }
  /** read reads a coded row into out, from at on. The reader's check says whether it was malformed. */
  read(r, mask, owned, past, out, at) {
    this.r = r;
    this.past = past;
    this.ratio = past.ratio();
    const parts = this.parts[owned ? 1 : 0];
    for (let i = 0, n = this.schema.values; i < n; i++) out[at + i] = past.values[past.base + i];
    for (let i = 0; i < parts.length; i++) {
      if ((mask >>> i & 1) === 0) continue;
      const from = r.taken;
      this.readPart(parts[i], out, at);
      this.count(i, r.taken - from);
    }
  }
  count(component, bits) {
    const c = this.received[component];
    c.rows++;
    c.bits += bits;
  }
  readPart(p, out, at) {
    this.set = p.set;
    this.predict(p);
    const { units, groups } = p;
    const digits = this.digits;
    const flag = p.flag >= 0 ? this.past.values[this.past.base + p.flag] : 0;
    const context = 2 * (this.margin + 4 * (this.moves === 0 ? 0 : 1 + step4(this.moves - 1, 2, 8, 32, 128))) + flag;
    digits.fill(0, 0, units.length);
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g];
      let symbol = this.symbol(group.heads[context]);
      for (let j = group.last - 1; j >= group.first; j--) {
        const radix = units[j].radix;
        digits[j] = symbol % radix;
        symbol = symbol / radix | 0;
      }
    }
    for (let j = 0; j < units.length; j++) {
      const u = units[j];
      if (digits[j] !== 0 || u.radix === 1) this.readUnit(p, u, digits[j], out, at + u.index);
    }
  }
  symbol(code) {
    const entry = code.entry(this.r.peek());
    this.r.skip(entry & 15);
    return entry >> 4;
  }
  readUnit(p, u, digit, out, at) {
    switch (u.letter) {
      case "b":
        out[at] = 1 - out[at];
        break;
      case "p":
        for (let i = 0; i < 3; i++) {
          this.feature[7] = mag(Math.floor(Math.abs(this.own[i]) / 256));
          this.feature[8] = mag(Math.floor(Math.abs(this.mismatch[i]) / 256));
          out[at + i] = this.residual(u, i, this.expected[i], digit - 1 >> i & 1);
        }
        break;
      case "q":
        out[at] = this.readRotation(p, u, digit);
        break;
      case "v":
      case "n":
        for (let i = 0; i < u.fields; i++) out[at + i] = this.readNumber(u, u.index + i);
        break;
      default:
        u.field.read(this.r, out, at);
    }
  }
  // Section 5.
  predict(p) {
    const { feature, past } = this;
    this.attached = this.zone = this.margin = 3;
    this.speed = this.moves = this.missed = this.missedTurn = 0;
    feature.fill(0);
    feature[0] = 16;
    const anchored = past.anchor === p.component;
    if (anchored) this.predictParent(p);
    if (p.position) this.predictPosition(p, p.position, anchored);
    if (p.rotation) this.predictRotation(p, p.rotation, anchored);
  }
  /** predictParent computes onward and before (section 4). */
  predictParent(p) {
    const { past, onward, before: before2, q0: q02, q1: q12 } = this;
    identity(onward);
    identity(before2);
    const u = p.rotation;
    if (!u) return;
    unpack2(past.anchorNow[past.now + u.index], u.n, q02);
    unpack2(past.anchorPast[past.anchorBase + u.index], u.n, q12);
    conj(q12);
    product(q02, q12, onward);
    if (past.older < 0) return;
    conj(q12);
    unpack2(past.anchorPast[past.anchorOlder + u.index], u.n, q02);
    conj(q02);
    product(q12, q02, before2);
  }
  /** predictPosition is step 2. */
  predictPosition(p, u, anchored) {
    const { past, own, followed, mismatch, feature, ratio } = this;
    const values = past.values;
    const base = past.base + u.index;
    const older = past.older + u.index;
    for (let i = 0; i < 3; i++) {
      own[i] = past.older < 0 ? 0 : Math.floor((values[base + i] - values[older + i]) * ratio / 256);
      followed[i] = mismatch[i] = 0;
    }
    const s = sum3(own);
    if (anchored) this.follow(p, u, s);
    feature[1] = mag(Math.floor(s / 256));
    if (p.zones) {
      const v = values[base + p.zones.axis];
      this.zone = (p.zones.first <= v ? 1 : 0) + (p.zones.second <= v ? 1 : 0);
      feature[10] = mag(Math.max(v - p.zones.first, 0));
    }
    const moved = Math.floor(s / 256);
    this.speed = step4(moved, 8, 40, 160, 500);
    const w = this.set.weights;
    let k = (this.zone * 20 + this.attached * 5 + this.speed) * 15;
    for (let i = 0; i < 3; i++, k += 4) {
      const weighted = p.wide && anchored ? weigh(own[i], followed[i], mismatch[i], w, k) : Math.floor((own[i] * w[k] + followed[i] * w[k + 1] + mismatch[i] * w[k + 2] + w[k + 3] * 2 ** 11 + 2 ** 15) / 2 ** 16);
      this.expected[i] = clamp(values[base + i] + weighted, 0, u.largest);
    }
    this.moves = moved;
  }
  /** follow computes followed, mismatch and attached. */
  follow(p, u, s) {
    const { past, own, followed, mismatch, feature, ratio, v0, v1 } = this;
    const { values, anchorNow, anchorPast } = past;
    const base = past.base + u.index;
    const now4 = past.now + u.index;
    const was = past.anchorBase + u.index;
    for (let i = 0; i < 3; i++) v0[i] = values[base + i] - anchorPast[was + i];
    applyTo(this.onward, v0, v1);
    for (let i = 0; i < 3; i++) followed[i] = (anchorNow[now4 + i] - values[base + i]) * 256 + v1[i];
    if (past.older >= 0) {
      const older = past.older + u.index;
      const wasOlder = past.anchorOlder + u.index;
      for (let i = 0; i < 3; i++) v1[i] = values[older + i] - anchorPast[wasOlder + i];
      applyTo(this.before, v1, mismatch);
      for (let i = 0; i < 3; i++) {
        const d = v0[i] * 256 - mismatch[i];
        mismatch[i] = p.wide ? Number(BigInt.asIntN(64, BigInt(d) * BigInt(ratio)) >> 16n) : Math.floor(d * ratio / 2 ** 16);
      }
      const m = sum3(mismatch);
      const part = (percent) => Math.floor(s * percent / 100);
      this.attached = m < part(15) + 768 ? 0 : m < part(40) + 1536 ? 1 : m < part(80) ? 2 : 3;
      feature[2] = mag(Math.floor(m / 256));
    }
    for (let i = 0; i < 3; i++) v1[i] = followed[i] - own[i];
    feature[6] = mag(Math.floor(sum3(v1) / 256));
  }
  /** predictRotation is step 3. */
  predictRotation(p, u, anchored) {
    const { past, facing, feature } = this;
    const q = this.q0;
    unpack2(past.values[past.base + u.index], u.n, q);
    let turns = 0;
    if (u.linear) {
      turns = this.predictTurn(u, q, anchored);
      const w = this.set.weights;
      const k = (this.zone * 20 + this.attached * 5 + step4(turns, 100, 500, 2e3, 5e3)) * 15 + 12;
      for (let i = 0; i < 4; i++) {
        facing[i] = q[i] + Math.floor((this.turn[i] * w[k] + this.ride[i] * w[k + 1] + this.twist[i] * w[k + 2] + 128) / 256);
      }
      unit(facing, q);
    } else facing.set(q);
    feature[4] = mag(Math.floor(turns / 8));
    this.moves += Math.floor(turns / 16);
    this.findLargest();
  }
  /** predictTurn computes turn, ride and twist, and returns turns. */
  predictTurn(u, q, anchored) {
    const { past, feature, ratio, turn: turn2, ride, twist, q1: q12, q2, q3 } = this;
    const p = q12;
    ride.fill(0);
    twist.fill(0);
    turn2.fill(0);
    if (past.older >= 0) {
      unpack2(past.values[past.older + u.index], u.n, p);
      conj(p);
      product(q, p, q2);
      conj(p);
      power(q2, ratio, q3);
      product(q3, q, turn2);
      near(turn2, q);
      subtract(turn2, q);
    } else p.set(q);
    if (anchored) {
      product(this.onward, q, ride);
      near(ride, q);
      subtract(ride, q);
      if (past.older >= 0) {
        product(this.before, p, q2);
        near(q2, q);
        for (let i = 0; i < 4; i++) twist[i] = Math.floor((q[i] - q2[i]) * ratio / 2 ** 16);
      }
      feature[9] = mag(Math.floor(sum4(twist) / 8));
      let apart = 0;
      for (let i = 0; i < 4; i++) apart += Math.abs(turn2[i] - ride[i]);
      feature[11] = mag(Math.floor(apart / 8));
    }
    return sum4(turn2);
  }
  /** findLargest finds the largest component of facing, and the margin. */
  findLargest() {
    let largest = 0;
    let most = -1;
    let second = -1;
    for (let i = 0; i < 4; i++) {
      const v = Math.abs(this.facing[i]);
      if (v > most) {
        second = most;
        most = v;
        largest = i;
      } else if (v > second) second = v;
    }
    this.largest = largest;
    const d = most - second;
    this.margin = (d >= 100 ? 1 : 0) + (d >= 400 ? 1 : 0) + (d >= 1600 ? 1 : 0);
  }
  // Section 6.
  readRotation(p, u, digit) {
    let q = this.facing;
    let g = this.largest;
    if (u !== p.rotation) {
      q = this.q1;
      const value2 = this.past.values[this.past.base + u.index];
      unpack2(value2, u.n, q);
      g = value2 & 3;
    }
    const h = g + digit - 1 & 3;
    const sign = q[h] < 0 ? -1 : 1;
    let value = h;
    let lane = 3;
    let place = 4;
    for (let i = 0; i < 4; i++) {
      if (i === h) continue;
      const expected = clamp(Math.trunc((sign * q[i] * u.largest + u.ring * 11585) / 23170), 0, u.largest);
      value += this.residual(u, lane, expected, 0) * place;
      place *= u.ring;
      lane++;
    }
    return value;
  }
  readNumber(u, index) {
    const { past } = this;
    const base = past.values[past.base + index];
    let expected = base;
    let move = 0;
    if (past.older >= 0) move = Math.floor(short(past.values[past.older + index], base, u.ring) * this.ratio / 2 ** 16);
    if (u.linear) {
      expected += move;
      expected = u.clamps ? clamp(expected, 0, u.largest) : expected - Math.floor(expected / u.ring) * u.ring;
    }
    this.feature[1] = mag(Math.abs(move));
    return this.residual(u, u.linear ? 6 : 7, expected, 0);
  }
  residual(u, lane, expected, negative) {
    const { r, feature: f2 } = this;
    const w = this.set.scales;
    const k = ((lane * 4 + this.attached) * 5 + this.speed) * 12;
    const total = 128 + w[k] * f2[0] + w[k + 1] * f2[1] + w[k + 2] * f2[2] + w[k + 3] * f2[3] + w[k + 4] * f2[4] + w[k + 5] * f2[5] + w[k + 6] * f2[6] + w[k + 7] * f2[7] + w[k + 8] * f2[8] + w[k + 9] * f2[9] + w[k + 10] * f2[10] + w[k + 11] * f2[11];
    const symbol = this.symbol(this.set.residuals[lane * 32 + clamp(total >> 8, 0, 31)]);
    let d = symbol;
    let v = 0;
    if (symbol === escape) {
      v = r.long(u.n);
      if (v > u.largest) r.refuse(`${u.field.path} is ${v}, at most ${u.largest}`);
      d = short(expected, v, u.ring);
    } else {
      if (symbol >= 8) {
        const power2 = (symbol - 8 >> 1) + 2;
        d = (2 + (symbol & 1) << power2) + r.bits(power2);
      }
      if (lane < 2) {
        if (negative === 1) d = -1 - d;
      } else if (d !== 0 && r.bits(1) === 1) d = -d;
      if (2 * Math.abs(d) > u.ring) r.refuse(`${u.field.path}: a residual of ${d}`);
      v = expected + d;
      if (v < 0) v += u.ring;
      else if (v >= u.ring) v -= u.ring;
    }
    if (lane >= 3 && lane <= 5) {
      this.missedTurn += Math.abs(d);
      f2[5] = mag(this.missedTurn);
    } else {
      this.missed += Math.abs(d);
      f2[3] = mag(this.missed);
    }
    return v;
  }
};
function clamp(v, least, most) {
  return v < least ? least : v > most ? most : v;
}
function step4(v, a, b, c, d) {
  return (a <= v ? 1 : 0) + (b <= v ? 1 : 0) + (c <= v ? 1 : 0) + (d <= v ? 1 : 0);
}
function mag(v) {
  if (v < 2147483647) {
    const u2 = v + 1;
    const n2 = 31 - Math.clz32(u2);
    return 4 * n2 + (n2 >= 2 ? u2 >> n2 - 2 & 3 : u2 << 2 - n2 & 3);
  }
  const u = Math.min(v + 1, 2 ** 40);
  const high = Math.floor(u / 2 ** 16);
  const n = 31 - Math.clz32(high);
  return 4 * (n + 16) + (high >> n - 2 & 3);
}
function short(a, b, ring) {
  const d = b - a;
  if (2 * d > ring) return d - ring;
  return 2 * d <= -ring ? d + ring : d;
}
function sum3(v) {
  return Math.abs(v[0]) + Math.abs(v[1]) + Math.abs(v[2]);
}
function sum4(q) {
  return sum3(q) + Math.abs(q[3]);
}
function isqrt(v) {
  if (v <= 0) return 0;
  const n = Math.floor(Math.sqrt(v));
  return n * n > v ? n - 1 : n;
}
function weigh(own, followed, mismatch, w, k) {
  const sum = BigInt(own) * BigInt(w[k]) + BigInt(followed) * BigInt(w[k + 1]) + BigInt(mismatch) * BigInt(w[k + 2]);
  return Number(BigInt.asIntN(64, sum + BigInt(w[k + 3] * 2 ** 11 + 2 ** 15)) >> 16n);
}
function identity(q) {
  q[0] = q[1] = q[2] = 0;
  q[3] = 2 ** 14;
}
function conj(q) {
  q[0] = -q[0];
  q[1] = -q[1];
  q[2] = -q[2];
}
function subtract(q, p) {
  for (let i = 0; i < 4; i++) q[i] -= p[i];
}
function near(q, p) {
  if (q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3] < 0) for (let i = 0; i < 4; i++) q[i] = -q[i];
}
var round14 = (v) => Math.floor((v + 2 ** 13) / 2 ** 14);
function product(q, p, out) {
  out[0] = round14(q[3] * p[0] + q[0] * p[3] + q[1] * p[2] - q[2] * p[1]);
  out[1] = round14(q[3] * p[1] - q[0] * p[2] + q[1] * p[3] + q[2] * p[0]);
  out[2] = round14(q[3] * p[2] + q[0] * p[1] - q[1] * p[0] + q[2] * p[3]);
  out[3] = round14(q[3] * p[3] - q[0] * p[0] - q[1] * p[1] - q[2] * p[2]);
}
function unit(v, p) {
  const length2 = isqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
  if (length2 === 0) {
    v.set(p);
    return;
  }
  const inverse = Math.floor(2 ** 38 / length2);
  for (let i = 0; i < 4; i++) v[i] = Math.floor((v[i] * inverse + 2 ** 23) / 2 ** 24);
}
var identityRotation = Float64Array.of(0, 0, 0, 2 ** 14);
var shift14 = (v) => Math.floor(v / 2 ** 14);
function power(q, r, out) {
  if (q[3] < 0) for (let i = 0; i < 4; i++) q[i] = -q[i];
  const inverse = Math.floor(2 ** 28 / Math.max(q[3], 2048));
  let s = 0;
  for (let i = 0; i < 3; i++) {
    out[i] = shift14(q[i] * inverse);
    s += shift14(out[i] * out[i]);
  }
  s = Math.min(s, 2 ** 14);
  let k = 2 ** 14 - shift14(s * 5461) + shift14(shift14(s * s) * 3276);
  k = Math.min(Math.floor(k * r / 2 ** 16), 2 ** 17);
  const a = Math.min(shift14(shift14(s * k) * k), 2 ** 14);
  k = shift14(k * (2 ** 14 + shift14(a * 5461) + shift14(shift14(a * a) * 2184)));
  for (let i = 0; i < 3; i++) out[i] = shift14(out[i] * k);
  out[3] = 2 ** 14;
  unit(out, identityRotation);
}
function applyTo(q, v, out) {
  const x = q[0];
  const y = q[1];
  const z = q[2];
  const w = q[3];
  const half = (n) => Math.floor(n / 2 ** 13);
  const a = v[0];
  const b = v[1];
  const c = v[2];
  out[0] = Math.floor(((2 ** 14 - half(y * y + z * z)) * a + half(x * y - z * w) * b + half(x * z + y * w) * c) / 64);
  out[1] = Math.floor((half(x * y + z * w) * a + (2 ** 14 - half(x * x + z * z)) * b + half(y * z - x * w) * c) / 64);
  out[2] = Math.floor((half(x * z - y * w) * a + half(y * z + x * w) * b + (2 ** 14 - half(x * x + y * y)) * c) / 64);
}
function unpack2(value, n, q) {
  const N = 2 ** n - 1;
  const largest = value & 3;
  let rest = 2 ** 28;
  let v = value >>> 2;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    q[i] = Math.trunc((2 * (v & N) - N) * 11585 / N);
    rest -= q[i] * q[i];
    v >>>= n;
  }
  q[largest] = isqrt(rest);
}

// src/state.ts
var typeState = 64;
var typeInput = 65;
var StateHeader = class {
  echo = 0;
  hold = 0;
  seq = 0;
  tick = 0;
  structure = 0;
  /** input is the tick of the newest input applied, 0 if there is none. */
  input = 0;
  fold = 0;
  events = noEvents;
  complete = false;
  audited = false;
  continued = false;
  /** exact tells that some rows have exact states. */
  exact = false;
  audit = 0;
  rows = 0;
  /** rest is where the bit string begins. */
  rest = 0;
  /** parse reads the header of a datagram. */
  parse(d) {
    if (d.length > maxDatagram) fail(`a datagram of ${d.length} bytes`);
    const r = new ByteReader(d);
    const type = r.u8();
    if (type !== typeState) fail(`a datagram of type ${type}`);
    this.echo = r.u32();
    this.hold = r.u16();
    this.seq = r.u32();
    this.tick = r.u32();
    this.structure = r.u32();
    const input = r.uvarint("input");
    const flags = r.u8();
    this.fold = r.u16();
    this.events = flags & 1 ? readEvents(r) : noEvents;
    this.complete = (flags & 2) !== 0;
    this.audited = (flags & 4) !== 0;
    this.continued = (flags & 8) !== 0;
    this.exact = (flags & 16) !== 0;
    this.audit = this.audited ? r.u32() : 0;
    this.rows = r.uvarint("rows", maxRows);
    this.rest = r.at;
    if (flags > 31 || this.audited && !this.complete || this.exact && this.rows === 0 || this.continued && this.seq === 1) fail(`a State datagram with the flags ${flags}`);
    if (input > this.tick + 1) fail(`an input of ${input - 1} ticks before tick ${this.tick}`);
    if (this.seq === 0 || this.tick === 0) fail("a State datagram of number 0 or tick 0");
    this.input = input === 0 ? 0 : this.tick + 1 - input;
  }
};
var noEvents = [];
function readEvents(r) {
  const n = r.uvarint("events", maxDatagram);
  if (n === 0) fail("no events where flags announce some");
  if (n > r.left) fail("events end early");
  const all = [];
  const events = new ByteReader(r.b, r.at, r.at + n);
  while (events.left > 0) {
    const number = events.uvarint("event", maxEventKinds - 1);
    const age = events.uvarint("age");
    all.push({ number, age, body: events.bytes(events.uvarint("event", maxArgs)) });
  }
  r.bytes(n);
  return all;
}
var Baseline = class {
  age = 0;
  gap = 0;
  read(r, tick) {
    this.age = r.golomb(4);
    this.gap = 0;
    if (this.age === 0) return;
    if (this.age >= tick) r.refuse(`a baseline of ${this.age} ticks before tick ${tick}`);
    this.gap = r.golomb(2);
    if (this.gap > 0 && this.gap >= tick - this.age) r.refuse(`a baseline of ${this.gap} ticks before tick ${tick - this.age}`);
  }
};
var Fold = class {
  x = 0;
  reset() {
    this.x = 0;
  }
  add(index, generation) {
    let x = Math.imul(this.x ^ index, 2654435761);
    x = Math.imul(x ^ x >>> 15 ^ generation, 2246822519);
    this.x = x ^ x >>> 13;
  }
  get value() {
    return (this.x ^ this.x >>> 16) & 65535;
  }
};
var Acks = class {
  newest = 0;
  /** Bit i of low and high, 32 bits each: newest − 1 − i. */
  low = 0;
  high = 0;
  /** duplicate reports whether seq was applied, or is too old to tell. */
  duplicate(seq) {
    if (seq > this.newest) return false;
    const i = this.newest - seq - 1;
    if (i < 0 || i > 63) return true;
    return ((i < 32 ? this.low : this.high) >>> (i & 31) & 1) !== 0;
  }
  /** run returns how many snapshots before the newest were applied without a gap. */
  get run() {
    const ones = (mask) => mask === 4294967295 ? 32 : 31 - Math.clz32(~mask & -~mask);
    return this.low === 4294967295 ? 32 + ones(this.high) : ones(this.low);
  }
  add(seq) {
    if (seq < this.newest) {
      const i = this.newest - seq - 1;
      if (i < 32) this.low = (this.low | 1 << i) >>> 0;
      else this.high = (this.high | 1 << i - 32) >>> 0;
      return;
    }
    const d = this.newest === 0 ? 65 : seq - this.newest;
    this.newest = seq;
    if (d > 64) {
      this.low = this.high = 0;
      return;
    }
    for (let i = 0; i < d; i++) {
      this.high = (this.high << 1 | this.low >>> 31) >>> 0;
      this.low = this.low << 1 >>> 0;
    }
    if (d <= 32) this.low = (this.low | 1 << d - 1) >>> 0;
    else this.high = (this.high | 1 << d - 33) >>> 0;
  }
  equals(a) {
    return this.newest === a.newest && this.low === a.low && this.high === a.high;
  }
  copy(a) {
    this.newest = a.newest;
    this.low = a.low;
    this.high = a.high;
  }
};
function encodeInput(w, stamp, acks, structure2, inputs, from, n) {
  w.reset();
  w.u8(typeInput);
  w.u32(stamp);
  w.u8(acks.newest === 0 ? 0 : 1);
  w.u32(acks.newest);
  w.u32(acks.low);
  w.u32(acks.high);
  w.u32(structure2);
  w.uvarint(n);
  for (let i = from; i < from + n; i++) {
    const t = inputs[i];
    w.u32(t.tick);
    w.uvarint(t.back);
    if (t.back > 0) w.u8(t.fraction);
    w.uvarint(t.data.length);
    w.bytes(t.data);
  }
}

// src/structure.ts
var Op = { enter: 1, leave: 2, destroy: 3, text: 4, event: 5, answer: 6, extension: 7 };
var StructureRecord = class {
  op;
  detail;
  index = 0;
  generation = 0;
  kind = 0;
  owned = false;
  /** form is that of an exact state, -1 of an ordinary one; back is its age in ticks. */
  form = -1;
  back = 0;
  row = none2;
  /** data is the text, the event, or the texts of an Enter; empty without any. */
  data = none2;
  /** number is that of a text field, an event or a provisional handle. */
  number = 0;
  cause = 0;
  extension;
  constructor(head) {
    this.op = head & 7;
    this.detail = head >> 3;
  }
};
var none2 = new Uint8Array(0);
function parseStructure(body2, simulation) {
  const r = new ByteReader(body2);
  const m = { first: r.uvarint("first"), ticks: r.uvarint("ticks"), records: [] };
  while (r.left > 0) m.records.push(readRecord(r, simulation));
  if (m.first === 0 || m.records.length === 0) fail("a Structure message without records, or of record 0");
  if (m.first + m.records.length > 2 ** 32) fail("record numbers beyond 32 bits");
  return m;
}
var highestDetail = [-1, 7, 1, 1, 31, 31, 1, 5];
function readRecord(r, simulation) {
  const x = new StructureRecord(r.u8());
  if (x.detail > highestDetail[x.op]) fail(`a record of op ${x.op} with detail ${x.detail}`);
  switch (x.op) {
    case Op.enter:
      readEnter(r, x);
      break;
    case Op.leave:
      readHandle(r, x);
      break;
    case Op.destroy:
      readHandle(r, x);
      if (x.detail === 1 && (x.cause = r.u8()) === 0) fail("a cause of 0");
      break;
    case Op.text:
      readNumber(r, x, maxTextFields);
      readHandle(r, x);
      x.data = r.bytes(r.uvarint("text", maxTextField));
      break;
    case Op.event:
      readNumber(r, x, maxEventKinds);
      x.data = r.bytes(r.uvarint("event", maxArgs));
      break;
    case Op.answer:
      x.number = r.uvarint("provisional handle");
      if (x.detail === 1) readHandle(r, x);
      break;
    default:
      x.extension = simulation?.readExtension(r, x.detail);
  }
  if (!simulation && (x.op === Op.extension || x.form >= 0)) fail("a record of a simulation, in a session that does not simulate");
  return x;
}
function readEnter(r, x) {
  x.owned = (x.detail & 1) !== 0;
  readHandle(r, x);
  x.kind = r.uvarint("kind", maxKinds - 1);
  if (x.detail & 4) {
    const form = r.u8();
    x.form = form & 3;
    x.back = form >> 2;
  }
  x.row = r.bytes(r.uvarint("row", maxRowBytes));
  if (x.detail & 2) {
    x.data = r.bytes(r.uvarint("texts", maxTexts));
    if (x.data.length === 0) fail("an Enter with texts of no bytes");
  }
}
function readHandle(r, x) {
  x.index = r.uvarint("slot", maxSlots - 1);
  x.generation = r.uvarint("generation");
  if (x.generation % 2 === 0) fail(`a record of the even generation ${x.generation}`);
}
function readNumber(r, x, below) {
  x.number = x.detail < 31 ? x.detail : 31 + r.uvarint("number", below - 1 - 31);
}

// src/wishes.ts
var maxOpen = 256;
var maxKept = 4096;
var isOpen = (x) => x.state !== "granted" && x.state !== "rejected";
var Wishes = class {
  list = /* @__PURE__ */ new Map();
  // the newest, in order
  next = 0;
  open = 0;
  nextInput = 0;
  // lowest index that may be new in an input
  nextSent = 0;
  // lowest index that the next command may name
  /** take returns a new provisional handle. */
  take() {
    if (this.open >= maxOpen && !this.rejectUnused()) throw new RangeError(`${maxOpen} provisional handles await answers: take fewer`);
    const oldest = this.list.keys().next().value;
    if (this.list.size === maxKept && oldest !== void 0) {
      const x = this.list.get(oldest);
      if (isOpen(x) && x.state !== "unused") throw new RangeError("a provisional handle has awaited its answer for too long: take fewer");
      if (isOpen(x)) this.open--;
      this.list.delete(oldest);
    }
    if (this.next === 2 ** 32 - 1) throw new RangeError("all provisional handles are used up: connect with a new client");
    this.list.set(this.next, { state: "unused", entity: none, command: 0, tick: 0 });
    this.open++;
    return newHandle(this.next++, provisionalGeneration);
  }
  rejectUnused() {
    for (const [index, x] of this.list) {
      if (x.state !== "unused") continue;
      this.answer(index, none);
      return true;
    }
    return false;
  }
  /** entity returns what a provisional handle stands for: none before its answer, and if it was rejected. */
  entity(index) {
    const x = this.list.get(index);
    return x?.state === "granted" ? x.entity : none;
  }
  /** verdict is that of a handle that stands for no entity. */
  verdict(index) {
    const x = this.list.get(index);
    return x !== void 0 && isOpen(x) ? "provisional" : "stale";
  }
  /** answers reports whether an Answer to index is lawful. */
  answers(index) {
    const x = this.list.get(index);
    return x !== void 0 && isOpen(x) && x.state !== "unused";
  }
  /** answer ends a wish that is not answered; entity is none if it is rejected. */
  answer(index, entity) {
    const x = this.list.get(index);
    this.open--;
    x.state = entity === none ? "rejected" : "granted";
    x.entity = entity;
  }
  reject(doomed) {
    if (this.open === 0) return;
    for (const [index, x] of this.list) if (isOpen(x) && doomed(x)) this.answer(index, none);
  }
  /** applied handles an applied snapshot of a tick, and the newest input that its server had applied. */
  applied(input, tick) {
    this.reject((x) => x.state === "input" && input >= x.tick || x.state === "executed" && tick > x.tick);
  }
  /** resumed handles the Welcome of a resumed session, whose server has received a number of commands. */
  resumed(commands, tick) {
    this.reject((x) => {
      if (x.state === "command") x.state = "executed";
      if (x.state !== "executed") return false;
      x.tick = tick;
      return x.command > commands;
    });
  }
  /** renew handles the start of a new session. */
  renew() {
    this.reject(() => true);
  }
  /** forget makes every handle Stale: the world is gone. */
  forget() {
    this.list.clear();
    this.open = 0;
  }
  /** result rejects the wishes of a command whose Result arrived: its Answers precede it. */
  result(first, n) {
    for (let i = first; i < first + n; i++) {
      const x = this.list.get(i);
      if (x && isOpen(x)) this.answer(i, none);
    }
  }
  /** sent notes that a command was sent, by its number in the session. */
  sent(first, n, command) {
    for (let i = first; i < first + n; i++) {
      const x = this.list.get(i);
      x.state = "command";
      x.command = command;
    }
    if (n > 0) this.nextSent = first + n;
  }
  /** pushed notes that the input of a tick names wishes. */
  pushed(indexes, tick) {
    for (const index of indexes) {
      const x = this.list.get(index);
      x.state = "input";
      x.tick = Math.max(x.tick, tick);
      this.nextInput = Math.max(this.nextInput, index + 1);
    }
  }
  /**
   * forward replaces each answered handle in a message by its entity's, and returns the
   * indexes of the others, ascending.
   */
  forward(m, p, input) {
    const indexes = /* @__PURE__ */ new Set();
    for (const f2 of m.fields) {
      if (f2.kind !== "ref") continue;
      const index = p.values[f2.index];
      const generation = p.values[f2.index + 1];
      if (generation % 2 === 1 || generation === 0) continue;
      if (generation !== provisionalGeneration || index >= this.next) throw new RangeError(`${index}v${generation} is no handle of this client`);
      const x = this.list.get(index);
      if (!x || !isOpen(x)) {
        const real = this.entity(index);
        p.values[f2.index] = indexOf(real);
        p.values[f2.index + 1] = generationOf(real);
      } else if (!this.mayName(index, x, input)) {
        throw new RangeError(`${index}v2 belongs to another command or input, or to an older one than the last`);
      } else indexes.add(index);
    }
    return [...indexes].sort((a, b) => a - b);
  }
  mayName(index, x, input) {
    if (input) return x.state === "input" || x.state === "unused" && index >= this.nextInput;
    return x.state === "unused" && index >= this.nextSent;
  }
  /** ofCommand checks the handles that a raw command names, and returns their indexes, ascending. */
  ofCommand(handles) {
    return handles.map((h) => {
      const x = this.list.get(indexOf(h));
      if (generationOf(h) !== provisionalGeneration || !x || !this.mayName(indexOf(h), x, false)) throw new RangeError("a handle that a command cannot name: take one for each command");
      return indexOf(h);
    }).sort((a, b) => a - b);
  }
};
function checkWishes(indexes) {
  const n = indexes.length;
  if (n > maxWishes || n > 0 && indexes[n - 1] - indexes[0] !== n - 1) {
    throw new RangeError(`a command has ${n} provisional handles: want at most ${maxWishes}, taken one right after the other`);
  }
}

// src/replica.ts
var ReplicaStats = class {
  snapshots = 0;
  // applied
  duplicates = 0;
  held = 0;
  // overtook their structure
  overflowed = 0;
  // dropped: too many waited
  unreadable = 0;
  faults = 0;
  // the fold did not match
  rows = 0;
  // that became current
  rowsLate = 0;
  enters = 0;
  leaves = 0;
  destroys = 0;
  events = 0;
  texts = 0;
};
var Events = class {
  handlers = /* @__PURE__ */ new Map();
  shapes = /* @__PURE__ */ new WeakMap();
  /** any receives every event before the handlers, with its quantised values. */
  any;
  /** on calls f for each event of a name; rendered: when the render reaches its tick. */
  on(name, f2, rendered = false) {
    const list = this.handlers.get(name) ?? [];
    list.push({ f: f2, rendered });
    this.handlers.set(name, list);
  }
  /** @internal */
  deliver(tick, kind, p, later) {
    guard(() => this.any?.(tick, kind, p));
    const list = this.handlers.get(kind.name);
    if (!list) return;
    let shape = this.shapes.get(kind);
    if (!shape) this.shapes.set(kind, shape = new Shape(kind.message.fields, kind.message.texts));
    const event = shape.restore(p);
    for (const { f: f2, rendered } of list) {
      if (rendered) later(tick, () => f2(tick, event));
      else guard(() => f2(tick, event));
    }
  }
};
function guard(f2) {
  try {
    f2();
  } catch (thrown) {
    rethrow(thrown);
  }
}
function rethrow(thrown) {
  if (typeof reportError === "function") reportError(thrown);
  else
    queueMicrotask(() => {
      throw thrown;
    });
}
var maxHeld = 16;
var maxRendered = 256;
var minArena = 4096;
var bytesOfEntity = 256;
var bytesOfText = 32;
var textBytes = (texts) => texts.reduce((n, t) => n + bytesOfText + 2 * t.length, 0);
var Replica = class {
  layout;
  stats;
  /** tick of the newest snapshot applied. */
  tick = 0;
  /** input is the tick of the newest input that the server had applied at tick, 0 if none. */
  input = 0;
  /** structure is the number of structure records applied. */
  structure = 0;
  /** @internal */
  acks = new Acks();
  ackTicks = new Uint32Array(64);
  // of the snapshots in acks, by number modulo 64
  /** @internal span is how many ticks of states are kept for interpolation; shown is the newest render. */
  span = 0;
  /** @internal */
  shown = 0;
  /** bodies are those that the client computes; undefined unless the session simulates. */
  bodies;
  codec;
  floor;
  ceiling;
  maxSlots;
  limits;
  observer;
  events;
  wishes;
  cells = new Cells();
  entities = [];
  entityBytes = 0;
  /** @internal structureTick is the tick of the newest structure message applied, which may be ahead of tick. */
  structureTick = 0;
  before = 0;
  // newest tick of a snapshot before tick
  held = [];
  /** @internal able says that a room to which the session moves may simulate. */
  able = false;
  fence = 0;
  // snapshots of lower structure numbers are of an earlier room
  rendered = [];
  loads;
  // of components
  valuesLoad;
  // Scratch for the State datagram being applied, a row each.
  reader = new BitReader();
  eventBits = new BitReader();
  header = new StateHeader();
  fold = new Fold();
  past = new Past();
  coding = new Baseline();
  own = new Baseline();
  slots = new Uint32Array(maxRows);
  ages = new Uint32Array(maxRows);
  gaps = new Uint32Array(maxRows);
  bases = new Int8Array(maxRows);
  olders = new Int8Array(maxRows);
  anchors = new Int16Array(maxRows);
  // row, -1: none
  anchorParts = new Int8Array(maxRows);
  newest = new Uint8Array(maxRows);
  simulation;
  exact;
  forms = new Uint8Array(maxRows);
  backs = new Uint8Array(maxRows);
  states = [];
  grid = new Float32Array(6);
  rows = [];
  // never shortened: growing again allocates
  arena = new Uint32Array(minArena);
  payloads = [];
  // of the events of a message, in order
  // Scratch for the Structure message being checked and applied.
  plans = /* @__PURE__ */ new Map();
  enters = [];
  answers = /* @__PURE__ */ new Set();
  bytesLeft = 0;
  planned = 0;
  retexted;
  // whose texts the newest records have changed
  constructor(layout, tables, floor, ceiling, maxSlots2, limits, observer, events, wishes, stats, simulation) {
    this.layout = layout;
    this.codec = new Codec(layout.schema, tables);
    this.floor = floor;
    this.ceiling = ceiling;
    this.maxSlots = maxSlots2;
    this.limits = limits;
    this.observer = observer;
    this.events = events;
    this.wishes = wishes;
    this.stats = stats;
    this.simulation = simulation;
    this.exact = simulation?.newExact();
    this.bodies = simulation && this.newBodies(simulation);
    this.valuesLoad = Math.floor(layout.schema.values / 256);
    this.loads = layout.schema.components.map((c) => {
      const quats = c.fields.filter((f2) => f2.kind === "quat").length;
      return 2 + Math.floor(c.fields.length / 12) + 2 * quats + (c.parent === "" ? 0 : 6);
    });
  }
  newBodies(simulation) {
    const { schema: schema2 } = this.layout;
    if (!schema2.motion) fail("the session simulates, but the schema does not say how bodies move");
    const { diverge } = this.observer;
    return simulation.newBodies({
      motion: schema2.motion,
      kinds: schema2.kinds,
      diverge: diverge && ((tick, names) => guard(() => diverge(tick, names.map((n) => newHandle(n.slot, n.generation)))))
    });
  }
  /** schema is the server's. */
  get schema() {
    return this.layout.schema;
  }
  /** received counts what was read of each component, also of exact states, since the session began: bits as they were in rows. */
  get received() {
    return this.codec.received;
  }
  /** all are the entities in view, in no particular order. The array changes in updates. */
  get all() {
    return this.entities;
  }
  /** @internal ackTick returns the tick of the snapshot n before the newest, n below 64, which was applied. */
  ackTick(n) {
    return this.ackTicks[Math.max(this.acks.newest - n, 0) % 64];
  }
  /** resolve returns the verdict on any handle (section 11.1). */
  resolve(h) {
    return this.verdict(indexOf(h), generationOf(h));
  }
  /** verdict is resolve of a handle's index and generation. */
  verdict(index, generation) {
    if (generation === provisionalGeneration) {
      const real = this.wishes.entity(index);
      if (real === none) return this.wishes.verdict(index);
      index = indexOf(real);
      generation = generationOf(real);
    }
    return verdicts[this.stateOf(index, generation)];
  }
  stateOf(index, generation) {
    if (generation % 2 === 0 || generation < this.floor || generation > this.ceiling || index >= this.maxSlots) return stale;
    const c = this.cells.peek(index);
    if (!c || c.generation < generation) return 0;
    return c.generation > generation ? stale : c.state;
  }
  /** entity returns the entity of a handle, undefined unless it is live. */
  entity(h) {
    if (generationOf(h) === provisionalGeneration) h = this.wishes.entity(indexOf(h));
    const index = indexOf(h);
    return this.stateOf(index, generationOf(h)) === live ? this.cells.peek(index).entity : void 0;
  }
  /** bytes estimates the replica's memory: what Limits.bytes bounds. */
  get bytes() {
    return this.cells.bytes + this.entityBytes + this.held.length * maxDatagram + this.arena.byteLength + (this.bodies?.bytes ?? 0);
  }
  // Structure: section 11.2.
  /** applyStructure applies a message whole or not at all, then the snapshots that waited for it. */
  applyStructure(body2) {
    const m = parseStructure(body2, this.simulation);
    if (m.first !== this.structure + 1) fail(`structure record ${m.first} follows ${this.structure}`);
    const tick = this.structureTick + m.ticks;
    if (tick > 2 ** 32 - 1) fail("structure of a tick beyond 2^32");
    this.check(m, tick);
    this.structureTick = tick;
    const enters = this.enters;
    const payloads = this.payloads.splice(0);
    this.enters = [];
    for (const x of m.records) {
      this.reportTexts(x);
      this.structure++;
      this.apply(x, tick, enters, payloads);
    }
    this.reportTexts(void 0);
    this.release();
  }
  /** check checks that all records can be applied, decodes their rows and events, and changes nothing visible. */
  check(m, tick) {
    this.plans.clear();
    this.answers.clear();
    this.enters = [];
    this.payloads.length = 0;
    this.bytesLeft = this.limits.bytes - this.bytes;
    this.planned = this.entities.length;
    for (const x of m.records) this.checkRecord(x, tick);
  }
  checkRecord(x, tick) {
    if (x.op === Op.event) {
      this.payloads.push(this.readEvent(x.number, false, x.data));
      return;
    }
    if (x.op === Op.extension) {
      this.extend(x, tick);
      return;
    }
    if (x.op === Op.answer) {
      this.checkAnswer(x);
      if (x.detail === 0) return;
    }
    if (x.index >= this.maxSlots || x.generation < this.floor || x.generation > this.ceiling) fail(`a record of ${x.index}v${x.generation}`);
    this.charge(this.cells.growth(x.index));
    const c = this.planOf(x.index);
    if (x.generation < c.generation) return;
    switch (x.op) {
      case Op.answer:
        if (x.generation === c.generation && !c.stale) fail(`an answer with ${x.index}v${x.generation}, which has entered before`);
        return;
      case Op.leave:
        if (x.generation === c.generation) this.planLive(c, false);
        return;
      case Op.text:
        this.checkText(x, c);
        return;
      case Op.enter:
        if (c.stale && x.generation === c.generation) fail(`an Enter of ${x.index}v${x.generation}, which was destroyed`);
        c.mask = this.checkEnter(x, tick);
        c.owned = x.owned;
    }
    c.generation = x.generation;
    c.stale = x.op === Op.destroy;
    this.planLive(c, x.op === Op.enter);
    if (this.planned > this.limits.entities) throw new LimitError("maxEntities", this.limits.entities);
  }
  /** extend applies an Extension: nothing shows effects before the next complete snapshot. */
  extend(x, tick) {
    const bodies = this.bodies;
    const before2 = bodies.bytes;
    bodies.extend(x.extension, tick, (h) => this.lives(h));
    this.charge(bodies.bytes - before2);
  }
  /** lives reports whether an entity is Live after the records checked so far. */
  lives(h) {
    const plan = this.plans.get(h.slot);
    if (plan) return plan.live && plan.generation === h.generation;
    return this.cells.peek(h.slot)?.entity?.generation === h.generation;
  }
  checkAnswer(x) {
    if (!this.wishes.answers(x.number) || this.answers.has(x.number)) fail(`an answer to provisional handle ${x.number}, which is not awaited`);
    this.answers.add(x.number);
  }
  charge(bytes) {
    this.bytesLeft -= bytes;
    if (this.bytesLeft < 0) throw new LimitError("maxBytes", this.limits.bytes);
  }
  planOf(slot2) {
    let p = this.plans.get(slot2);
    if (!p) {
      const c = this.cells.at(slot2);
      p = { generation: c.generation, stale: c.state === stale, live: c.state === live, owned: c.entity?.owned ?? false, mask: c.entity?.mask ?? 0 };
      this.plans.set(slot2, p);
    }
    return p;
  }
  planLive(p, isLive) {
    if (p.live !== isLive) this.planned += isLive ? 1 : -1;
    p.live = isLive;
  }
  /** checkEnter decodes the row and the texts of an Enter, and returns its mask. */
  checkEnter(x, tick) {
    const { schema: schema2 } = this.layout;
    this.charge(bytesOfEntity + 4 * (2 + schema2.values) + schema2.texts.length * bytesOfText + 2 * x.data.length);
    const r = this.reader;
    r.reset(x.row);
    const mask = this.codec.readMask(r);
    const list = new Uint32Array(2 + schema2.values);
    this.codec.readFull(r, mask, x.owned, list, 2);
    let body2 = null;
    if (x.form >= 0) {
      if (x.back >= tick) fail(`an exact state of ${x.back} ticks before tick ${tick}`);
      this.charge(this.bodies.bytesOfNew);
      this.checkBody(x.kind, mask);
      body2 = this.simulation.newState();
      this.readBody(x.form + 1, list, 2, body2);
    }
    r.expectEnd();
    this.enters.push({ list, mask, texts: this.readTexts(x, mask), body: body2 });
    return mask;
  }
  /** checkBody checks that an entity may have an exact state. */
  checkBody(kind, mask) {
    const { body: body2 } = this.layout;
    if (body2 < 0 || (mask >>> body2 & 1) === 0 || !this.bodies.hasKind(kind)) fail(`an exact state of an entity of kind ${kind}, which cannot have one`);
  }
  /** readBody reads the exact part of a row, whose values begin at at. */
  readBody(form, values, at, s) {
    const { schema: schema2, body: body2 } = this.layout;
    for (let i = 0; i < 6; i++) {
      const f2 = schema2.components[body2].fields[i];
      this.grid[i] = f2.low + values[at + f2.index] * f2.step;
    }
    const from = this.reader.taken;
    this.simulation.readBody(this.reader, form, this.grid, schema2.motion.restTicks, s);
    this.codec.received[body2].bits += this.reader.taken - from;
  }
  /** readTexts reads the texts of an Enter (section 7). */
  readTexts(x, mask) {
    const r = new ByteReader(x.data);
    const texts = this.layout.schema.texts.map((f2) => {
      if ((mask >>> f2.component & 1) === 0 || f2.owner && !x.owned) return noText(f2);
      return readText(f2, r.bytes(r.uvarint(f2.path, f2.max)));
    });
    r.expectEnd();
    return texts;
  }
  checkText(x, c) {
    const f2 = this.layout.schema.texts[x.number];
    if (!f2) fail(`text field ${x.number}, which the schema lacks`);
    readText(f2, x.data);
    if (!c.live || x.generation !== c.generation) return;
    if ((c.mask >>> f2.component & 1) === 0 || f2.owner && !c.owned) fail(`${f2.path} of an entity that does not have it`);
    this.charge(2 * x.data.length);
  }
  apply(x, tick, enters, payloads) {
    if (x.op === Op.event) {
      this.deliver(x.number, tick, payloads.shift());
      return;
    }
    if (x.op === Op.answer) {
      this.wishes.answer(x.number, x.detail === 0 ? none : newHandle(x.index, x.generation));
      return;
    }
    if (x.op === Op.extension) return;
    const c = this.cells.at(x.index);
    if (x.generation < c.generation) return;
    switch (x.op) {
      case Op.enter:
        this.enter(c, x, tick, enters.shift());
        break;
      case Op.leave:
        if (x.generation === c.generation && c.state === live) this.leave(c, x.detail === 1 ? "rule" : "interest");
        break;
      case Op.destroy:
        this.destroy(c, x.index, x.generation, x.cause);
        break;
      case Op.text:
        if (x.generation === c.generation && c.state === live) this.setText(c.entity, x);
    }
  }
  enter(c, x, tick, row) {
    let e = c.entity;
    if (c.state !== live || e.generation !== x.generation) {
      this.replace(c, x.generation);
      e = new Entity(x.index, x.generation, this.layout, this.bodies);
      e.place = this.entities.length;
      this.entities.push(e);
      this.entityBytes += bytesOfEntity;
    } else this.entityBytes -= e.bytes + textBytes(e.texts);
    e.kind = x.kind;
    e.mask = row.mask;
    e.owned = x.owned;
    e.texts = row.texts;
    e.entered = this.structure;
    e.load = this.loads.reduce((n, load, i) => n + (row.mask >>> i & 1) * load, 1 + this.valuesLoad);
    e.begin(row.list, tick - x.back);
    this.bodies?.entered({ slot: x.index, generation: x.generation }, x.kind, tick - x.back, row.body);
    this.entityBytes += e.bytes + textBytes(e.texts);
    c.generation = x.generation;
    c.state = live;
    c.entity = e;
    this.stats.enters++;
    if (this.observer.enter) guard(() => this.observer.enter(e));
  }
  /** leave takes the entity of a cell out of view. */
  leave(c, why) {
    const h = c.entity.handle;
    this.drop(c);
    c.state = hidden;
    this.stats.leaves++;
    if (this.observer.leave) guard(() => this.observer.leave(h, why));
  }
  /** destroy makes a tenant and all before it Stale, even if the tenant was never heard of. */
  destroy(c, index, generation, cause) {
    if (c.state === stale && generation === c.generation) return;
    this.replace(c, generation);
    c.generation = generation;
    c.state = stale;
    this.reportDestroyed(newHandle(index, generation), cause);
  }
  /** replace takes the live tenant, if any, out of its slot; another than generation is dead. */
  replace(c, generation) {
    if (c.state !== live) return;
    const e = c.entity;
    this.drop(c);
    c.state = stale;
    if (e.generation !== generation) this.reportDestroyed(e.handle, 0);
  }
  reportDestroyed(h, cause) {
    this.stats.destroys++;
    if (this.observer.destroy) guard(() => this.observer.destroy(h, cause));
  }
  drop(c) {
    const e = c.entity;
    this.entityBytes -= bytesOfEntity + e.bytes + textBytes(e.texts);
    this.bodies?.gone(e.index);
    const last = this.entities.pop();
    if (last !== e) {
      this.entities[e.place] = last;
      last.place = e.place;
    }
    c.entity = void 0;
  }
  setText(e, x) {
    const text = readText(this.layout.schema.texts[x.number], x.data);
    this.entityBytes += 2 * (text.length - e.texts[x.number].length);
    e.texts[x.number] = text;
    this.stats.texts++;
    this.retexted = e;
  }
  /** reportTexts reports the entity whose texts have changed, unless the next record changes them too. */
  reportTexts(next) {
    const e = this.retexted;
    if (!e || next?.op === Op.text && next.index === e.index && next.generation === e.generation) return;
    this.retexted = void 0;
    if (this.observer.update) guard(() => this.observer.update(e));
  }
  // Events: sections 8 and 11.2.
  readEvent(number, unreliable, body2) {
    const kind = this.layout.schema.events[number];
    if (!kind || kind.unreliable !== unreliable) fail(`event ${number}, which the schema lacks in this form`);
    return kind.message.parse(this.eventBits, body2);
  }
  deliver(number, tick, p) {
    this.stats.events++;
    this.events.deliver(tick, this.layout.schema.events[number], p, (at, call) => this.addRendered(at, call));
  }
  addRendered(tick, call) {
    if (this.rendered.length === maxRendered) guard(this.rendered.shift().call);
    let at = this.rendered.length;
    while (at > 0 && this.rendered[at - 1].tick > tick) at--;
    this.rendered.splice(at, 0, { tick, call });
  }
  /** @internal deliverRendered delivers the waiting events up to a tick. */
  deliverRendered(tick) {
    while (this.rendered.length > 0 && this.rendered[0].tick <= tick) guard(this.rendered.shift().call);
  }
  // Snapshots: section 11.3.
  /** @internal The header of the newest datagram. */
  get stateHeader() {
    return this.header;
  }
  /** applyState applies a State datagram whole or not at all. It throws if that breaks the protocol. */
  applyState(d) {
    const h = this.header;
    h.parse(d);
    if (this.acks.duplicate(h.seq) || h.structure < this.fence) {
      this.stats.duplicates++;
      return "duplicate";
    }
    const waits = h.structure > this.structure;
    if (!this.bodies && !(waits && this.able) && (h.complete || h.audited || h.continued || h.exact)) fail("a State datagram of a simulation, in a session that does not simulate");
    if (waits) return this.hold(d);
    this.reader.reset(d, h.rest, d.length);
    this.readHeaders();
    const load = this.findEntities();
    if (load < 0) {
      this.stats.unreadable++;
      return "unreadable";
    }
    if (this.fold.value !== h.fold) {
      this.stats.faults++;
      return "faulty";
    }
    if (load > maxLoad) fail(`rows of load ${load}, at most ${maxLoad}`);
    if (this.bodies) {
      for (let i = 0; i < h.rows; i++) if (this.forms[i] !== 0) this.checkBody(this.rows[i].kind, this.rows[i].mask);
    }
    if (!this.findBaselines()) {
      this.stats.unreadable++;
      return "unreadable";
    }
    this.decode();
    this.checkGrowth();
    this.publish();
    return "applied";
  }
  /** readHeaders reads the headers of the rows. */
  readHeaders() {
    const { header: h, reader: r } = this;
    if (h.rows === 0) return;
    const k = r.bits(4);
    this.coding.read(r, h.tick);
    let next = 0;
    let ordinary = 0;
    for (let i = 0; i < h.rows; i++) {
      const slot2 = next + r.golomb(k);
      let b = this.coding;
      if (r.bits(1) === 1) {
        b = this.own;
        b.read(r, h.tick);
        if (b.age === this.coding.age && b.gap === this.coding.gap) r.refuse("an own baseline equals the usual one");
      }
      this.forms[i] = this.backs[i] = 0;
      if (h.exact) {
        this.exact.read(r, h.tick, b.age);
        this.forms[i] = this.exact.form;
        this.backs[i] = this.exact.back;
      }
      if (this.forms[i] === 0) ordinary++;
      r.check();
      if (slot2 >= this.maxSlots) fail(`a row of slot ${slot2}`);
      this.slots[i] = slot2;
      this.ages[i] = b.age;
      this.gaps[i] = b.gap;
      next = slot2 + 1;
    }
    if (h.exact && ordinary === h.rows) fail("a State datagram announces exact rows and has none");
  }
  /** findEntities finds and folds the entities of the rows, and returns their load; −1 if one is not known. */
  findEntities() {
    const { header: h, rows, fold } = this;
    let load = 0;
    fold.reset();
    for (let i = 0; i < h.rows; i++) {
      const e = this.cells.peek(this.slots[i])?.entity;
      if (!e || e.entered > h.structure) return -1;
      rows[i] = e;
      fold.add(e.index, e.generation);
      load += e.load;
    }
    return load;
  }
  /** findBaselines finds the baselines and anchors of the rows. It returns false if a state is not known. */
  findBaselines() {
    const { header: h, rows } = this;
    for (let i = 0; i < h.rows; i++) {
      this.bases[i] = this.olders[i] = this.anchors[i] = -1;
      const age = this.ages[i];
      if (age === 0) continue;
      const base = this.bases[i] = rows[i].state(h.tick - age);
      if (base < 0) return false;
      const gap = this.gaps[i];
      if (gap === 0) continue;
      const older = this.olders[i] = rows[i].state(h.tick - age - gap);
      if (older < 0) return false;
    }
    for (let i = 0; i < h.rows; i++) this.findAnchor(i);
    return true;
  }
  /** parentPart returns the first present component of row i with a parent line, −1 if it has none. */
  parentPart(i) {
    if (this.bases[i] < 0) return -1;
    const { components } = this.layout.schema;
    for (let c = 0; c < components.length; c++) {
      if (components[c].parent !== "" && this.rows[i].mask >>> c & 1) return c;
    }
    return -1;
  }
  /** holderAt returns where in row i's states its base has the parent's handle. */
  holderAt(i, part) {
    return this.rows[i].valuesAt(this.bases[i]) + this.layout.schema.components[part].holder;
  }
  findAnchor(i) {
    const part = this.parentPart(i);
    if (part < 0) return;
    const at = this.holderAt(i, part);
    const values = this.rows[i].all;
    const generation = values[at + 1];
    const a = this.rowOf(values[at]);
    if (generation === 0 || a < 0) return;
    const e = this.rows[a];
    if (e.generation !== generation || this.ages[a] !== this.ages[i] || this.gaps[a] !== this.gaps[i] || this.backs[a] !== this.backs[i] || (e.mask >>> part & 1) === 0) return;
    const own = this.parentPart(a);
    if (own >= 0 && e.all[this.holderAt(a, own) + 1] !== 0) return;
    this.anchors[i] = a;
    this.anchorParts[i] = part;
  }
  /** rowOf returns the row of a slot, −1 if there is none. */
  rowOf(slot2) {
    let from = 0;
    let to = this.header.rows;
    while (from < to) {
      const middle = from + to >> 1;
      if (this.slots[middle] < slot2) from = middle + 1;
      else to = middle;
    }
    return from < this.header.rows && this.slots[from] === slot2 ? from : -1;
  }
  /** decode reads the events and all rows into scratch: first those without an anchor. */
  decode() {
    const { header: h, reader: r } = this;
    this.payloads.length = 0;
    for (const e of h.events) {
      if (e.age > h.tick) fail(`an event of ${e.age} ticks before tick ${h.tick}`);
      this.payloads.push(this.readEvent(e.number, true, e.body));
    }
    const n = this.layout.schema.values * h.rows;
    if (this.arena.length < n) this.arena = new Uint32Array(Math.max(n, 2 * this.arena.length));
    let anchored = 0;
    for (let i = 0; i < h.rows; i++) {
      if (this.anchors[i] < 0) this.decodeRow(i);
      else anchored++;
    }
    for (let i = 0; i < h.rows && anchored > 0; i++) if (this.anchors[i] >= 0) this.decodeRow(i);
    r.expectEnd();
  }
  decodeRow(i) {
    const n = this.layout.schema.values;
    const e = this.rows[i];
    if (this.ages[i] === 0) {
      this.codec.readFull(this.reader, e.mask, e.owned, this.arena, i * n);
      this.readExact(i);
      return;
    }
    const p = this.past;
    p.age = this.ages[i] - this.backs[i];
    p.gap = this.gaps[i];
    p.values = e.all;
    p.base = e.valuesAt(this.bases[i]);
    p.older = this.gaps[i] === 0 ? -1 : e.valuesAt(this.olders[i]);
    p.anchor = -1;
    const a = this.anchors[i];
    if (a >= 0) {
      const carrier = this.rows[a];
      p.anchor = this.anchorParts[i];
      p.anchorNow = this.arena;
      p.now = a * n;
      p.anchorPast = carrier.all;
      p.anchorBase = carrier.valuesAt(this.bases[a]);
      p.anchorOlder = this.gaps[a] === 0 ? -1 : carrier.valuesAt(this.olders[a]);
    }
    this.codec.read(this.reader, e.mask, e.owned, p, this.arena, i * n);
    this.readExact(i);
  }
  /** readExact reads the exact part of row i, if it has one. */
  readExact(i) {
    if (this.forms[i] === 0) return;
    while (this.states.length <= i) this.states.push(this.simulation.newState());
    this.readBody(this.forms[i], this.arena, i * this.layout.schema.values, this.states[i]);
  }
  /** checkGrowth checks that the states of the rows cannot exceed the limit. */
  checkGrowth() {
    this.bytesLeft = this.limits.bytes - this.bytes;
    for (let i = 0; i < this.header.rows; i++) {
      this.charge(this.rows[i].growth);
      if (this.forms[i] !== 0 && !this.bodies.isComputed(this.slots[i])) this.charge(this.bodies.bytesOfNew);
    }
  }
  /** publish applies the decoded rows. */
  publish() {
    const { header: h, rows } = this;
    const { tick, seq } = h;
    const events = h.events;
    const payloads = events.length > 0 ? this.payloads.splice(0) : noPayloads;
    for (let i = 0; i < events.length; i++) this.deliver(events[i].number, tick - events[i].age, payloads[i]);
    if (tick > this.tick) {
      this.before = this.tick;
      this.tick = tick;
      this.input = h.input;
    }
    const n = this.layout.schema.values;
    for (let i = 0; i < h.rows; i++) {
      const e = rows[i];
      if (this.gaps[i] !== 0) e.noteBaseline(tick - this.ages[i] - this.gaps[i]);
      const bytes = e.bytes;
      const at = tick - this.backs[i];
      this.newest[i] = e.add(at, this.blendFrom(at, e), this.arena, i * n, this.span) ? 1 : 0;
      this.entityBytes += e.bytes - bytes;
      if (this.newest[i]) {
        this.stats.rows++;
        this.bodies?.updated(e.index, at, this.forms[i] === 0 ? null : this.states[i]);
      } else this.stats.rowsLate++;
    }
    this.acks.add(seq);
    this.ackTicks[seq % 64] = tick;
    this.stats.snapshots++;
    this.bodies?.applied(h, this.structure);
    this.wishes.applied(this.input, this.tick);
    if (this.observer.update) {
      for (let i = 0; i < h.rows; i++) if (this.newest[i]) report(this.observer, rows[i]);
    }
  }
  /**
   * blendFrom returns the tick from which a new state of e is blended in: 0 for its previous
   * state's, unless a snapshot between the two had no row of e. Then e was shown at rest.
   */
  blendFrom(tick, e) {
    return tick < this.tick || this.before <= e.tick ? 0 : Math.min(this.shown, tick - 1);
  }
  /** hold keeps a datagram until its structure arrives. */
  hold(d) {
    const { seq, structure: structure2 } = this.header;
    if (this.held.some((x) => x.seq === seq)) {
      this.stats.duplicates++;
      return "held";
    }
    this.held.push({ structure: structure2, seq, bytes: d.slice() });
    this.held.sort((a, b) => a.seq - b.seq);
    this.stats.held++;
    if (this.held.length > maxHeld) {
      this.held.shift();
      this.stats.overflowed++;
    }
    return "held";
  }
  /** @internal */
  get waiting() {
    return this.held.length;
  }
  /**
   * @internal follow continues a session that has moved: structure is the number of its Welcome,
   * and before holds the snapshots that have overtaken it. release applies them.
   */
  follow(structure2, before2) {
    this.fence = this.structure = structure2;
    this.held = before2?.held.filter((x) => x.structure >= structure2) ?? [];
  }
  /** @internal release applies the held datagrams whose structure has arrived, oldest first. */
  release() {
    if (this.held.length === 0) return;
    const due = this.held.filter((x) => x.structure <= this.structure);
    this.held = this.held.filter((x) => x.structure > this.structure);
    for (const x of due) this.applyState(x.bytes);
  }
  // The end of a session: section 4.1.
  /** @internal leaveAll takes all entities out of view. */
  leaveAll() {
    for (const e of this.entities.slice()) this.leave(this.cells.at(e.index), "interest");
  }
  /** @internal inheritStale copies the Stale handles of an earlier session of the same epoch. */
  inheritStale(before2) {
    for (const [slot2, c] of before2.cells.known()) {
      const generation = c.state === stale ? c.generation : c.generation - 2;
      if (generation < 1) continue;
      const own = this.cells.at(slot2);
      own.generation = generation;
      own.state = stale;
    }
  }
  /** @internal destroyAll destroys every entity that may live. */
  destroyAll() {
    for (const [slot2, c] of this.cells.known()) if (c.state !== stale) this.destroy(c, slot2, c.generation, 0);
  }
};
var noPayloads = [];
function report(o, e) {
  try {
    o.update(e);
  } catch (thrown) {
    rethrow(thrown);
  }
}

// src/clock.ts
var slewShare = 16;
var stepAbove = 250;
var lostAbove = 500;
var jitterShare = 16;
var intervalShare = 8;
var slots = 8;
var slot = 500;
var Least = class {
  values = new Float64Array(slots).fill(Infinity);
  newest = -1;
  // number of the newest slot
  add(now4, v) {
    const n = Math.floor(now4 / slot);
    if (this.newest < 0 || n - this.newest >= slots) {
      this.newest = n;
      this.values.fill(Infinity);
    }
    while (this.newest < n) this.values[++this.newest % slots] = Infinity;
    const at = this.newest % slots;
    this.values[at] = Math.min(this.values[at], v);
  }
  /** least is 0 before the first value. */
  get least() {
    let least = Infinity;
    for (let i = 0; i < slots; i++) least = Math.min(least, this.values[i]);
    return least === Infinity ? 0 : least;
  }
  reset() {
    this.newest = -1;
    this.values.fill(Infinity);
  }
};
var Clock = class {
  hz;
  trips = new Least();
  /** behind is arrival time minus tick time of the newest tick. */
  behind = 0;
  /** jitter is the mean delay of snapshots beyond the fastest one. */
  jitter = 0;
  /** tick is the newest of a snapshot, 0 before the first. */
  tick = 0;
  /** interval is the mean server time between snapshots. */
  interval = 0;
  early = new Least();
  offset = 0;
  // the caller's time minus the server's, at updated
  updated = 0;
  wrong = 0;
  // error of offset, found at updated
  constructor(hz) {
    this.hz = hz;
  }
  timeOf(tick) {
    return tick * 1e3 / this.hz;
  }
  ticks(time) {
    return time * this.hz / 1e3;
  }
  offsetAt(now4) {
    const most = Math.max(now4 - this.updated, 0) / slewShare;
    return this.offset + Math.min(Math.max(this.wrong, -most), most);
  }
  /** server returns the server's time at now. */
  server(now4) {
    return now4 - this.offsetAt(now4);
  }
  /** serverTick returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now4) {
    return this.tick === 0 ? 0 : Math.max(this.ticks(this.server(now4)), 0);
  }
  snapshot(now4, tick) {
    const behind = now4 - this.timeOf(tick);
    if (this.tick !== 0 && behind - this.early.least > lostAbove) this.early.reset();
    this.early.add(now4, behind);
    this.jitter += (behind - this.early.least - this.jitter) / jitterShare;
    this.offset = this.offsetAt(now4);
    this.updated = now4;
    this.wrong = this.early.least - this.trips.least / 2 - this.offset;
    if (this.tick === 0 || Math.abs(this.wrong) > stepAbove) {
      this.offset += this.wrong;
      this.wrong = 0;
    }
    if (tick <= this.tick) return;
    if (this.tick !== 0) this.interval += (this.timeOf(tick - this.tick) - this.interval) / intervalShare;
    this.behind = behind;
    this.tick = tick;
  }
};
var allowanceSamples = 128;
var allowanceShare = 50;
var Allowance = class {
  value = 0;
  count = 0;
  samples = new Float64Array(allowanceSamples);
  sorted = new Float64Array(allowanceSamples);
  updated = 0;
  add(now4, delay) {
    this.samples[this.count++ % allowanceSamples] = delay;
    const n = Math.min(this.count, allowanceSamples);
    this.sorted.fill(Infinity);
    for (let i = 0; i < n; i++) this.sorted[i] = this.samples[i];
    this.sorted.sort();
    const want = this.sorted[n - 1 - Math.floor(n / 50)];
    const passed = Math.max(now4 - this.updated, 0);
    this.updated = now4;
    this.value = this.count === 1 ? want : Math.max(want, this.value - passed / allowanceShare);
  }
};
var maxDelay = 500;
var slowShare = 4;
var fastShare = 10;
var Renderer = class {
  on = false;
  /** resumed says that no snapshot has arrived since the session resumed. */
  resumed = false;
  /** shown is the server time of the newest render. */
  shown = 0;
  delay = new Allowance();
  updated = 0;
  /** snapshot records the arrival of the first snapshot of a tick; the one before was the newest until then. */
  snapshot(now4, c, before2) {
    if (before2 !== 0 && !this.resumed) this.delay.add(now4, Math.min(c.server(now4) - c.timeOf(before2), maxDelay));
    this.resumed = false;
  }
  /** advance moves to now. */
  advance(now4, c) {
    const target = c.server(now4) - this.delay.value;
    const passed = Math.max(now4 - this.updated, 0);
    this.updated = now4;
    const ahead = this.shown + passed - target;
    if (!this.on) {
      this.on = true;
      this.shown = target;
    } else if (ahead < -maxDelay) this.shown = target;
    else if (ahead <= maxDelay) this.shown += passed - Math.min(Math.max(ahead, -passed / fastShare), passed / slowShare);
  }
};

// src/inputs.ts
var echoedDatagrams = 32;
var maxLead = 1e3;
var maxAhead = 28;
var maxUnsent = maxInputs / 2;
var inputSoon = 50;
var minRepeated = 4;
var maxInterval = 250;
var handshakeTimeout = 5e3;
var viewTick = 256;
function stampAt(now4) {
  return (Math.floor(now4 * 10) % 2 ** 32 | 1) >>> 0;
}
var Trip = class {
  known = false;
  mean = 0;
  deviation = 0;
  add(trip) {
    if (!this.known) {
      this.known = true;
      this.mean = trip;
      this.deviation = Math.abs(trip) / 2;
      return;
    }
    this.deviation += (Math.abs(trip - this.mean) - this.deviation) / 4;
    this.mean += (trip - this.mean) / 8;
  }
  get least() {
    return this.mean - 8 * this.deviation;
  }
  get most() {
    return this.mean + 4 * this.deviation;
  }
};
var Inputs = class {
  lead = new Allowance();
  snapshotHz;
  clock;
  renderer;
  list = [];
  // newest first
  unsent = 0;
  set = 0;
  // when the newest was set
  early = false;
  // the newest, unsent, was set for a tick above its target
  before = [0, 0];
  // new inputs in the last datagrams
  timed = false;
  made = 0;
  // server time when the oldest unsent input was made
  sent = [];
  next = 0;
  trip = new Trip();
  ahead = new Least();
  acked = new Acks();
  // by the newest datagram
  sentAt = -Infinity;
  w = new ByteWriter();
  constructor(clock, renderer, snapshotHz) {
    this.clock = clock;
    this.renderer = renderer;
    this.snapshotHz = snapshotHz;
  }
  /** targetTick returns the tick for an input made at now, 0 if the server's time is unknown. */
  targetTick(now4) {
    return this.clock.tick === 0 ? 0 : Math.min(Math.floor(this.inputTick(now4)) + 1, 2 ** 32 - 1);
  }
  /** inputTick returns how far the tick for an input made at now has come. */
  inputTick(now4) {
    const c = this.clock;
    if (c.tick === 0) return 0;
    const lead = this.lead.count === 0 ? c.trips.least / 2 + 2e3 / this.snapshotHz : this.lead.value;
    const aimed = Math.min(c.server(now4) + Math.min(lead, maxLead), this.earliestArrival(now4) + c.timeOf(maxAhead));
    return Math.max(c.ticks(aimed) + 0.5, 0);
  }
  /** earliestArrival returns a server time before which an input sent at now should not arrive. */
  earliestArrival(now4) {
    const c = this.clock;
    if (!this.trip.known) return c.server(now4);
    return Math.min(Math.max(c.server(now4) + this.trip.least, now4 - c.behind), now4 + this.ahead.least);
  }
  /** push sets what the player holds down from now on, and returns the tick that it is for: after applied, the newest that the server has applied. */
  push(data, now4, applied) {
    let tick = this.targetTick(now4);
    if (tick > 0) tick = Math.max(tick, applied + 1);
    this.set = now4;
    const newest = this.list[0];
    if (newest) {
      if (tick > 0 && newest.tick - tick > this.clock.ticks(stepAbove)) {
        this.list.length = this.unsent = 0;
        this.early = false;
      } else if (this.unsent > 0 && tick > 0 && tick <= newest.tick) {
        newest.data = data;
        this.view(newest);
        return newest.tick;
      } else if (tick <= newest.tick) {
        this.early = tick > 0;
        tick = newest.tick + 1;
      } else {
        if (this.early && this.unsent === 1) this.made = this.clock.server(now4);
        this.early = false;
      }
    }
    if (this.unsent === 0) {
      this.made = this.clock.server(now4);
      this.timed = this.clock.tick !== 0;
    }
    this.unsent = Math.min(this.unsent + 1, maxInputs);
    const t = { tick: Math.max(tick, 1), back: 0, fraction: 0, data };
    this.view(t);
    this.list.unshift(t);
    if (this.list.length > maxInputs) this.list.pop();
    return t.tick;
  }
  /** shownTick returns the moment of the newest render in ticks, in whole 1/256. */
  get shownTick() {
    return Math.floor(Math.max(this.clock.ticks(this.renderer.shown), 0) * viewTick) / viewTick;
  }
  /** view sets the view moment of an input. */
  view(t) {
    const whole = Math.floor(this.shownTick);
    const back = t.tick - whole;
    const known = this.renderer.on && back >= 1 && back <= maxView;
    t.back = known ? back : 0;
    t.fraction = known ? (this.shownTick - whole) * viewTick : 0;
  }
  /** commandView returns the view moment of a command, in 1/256 ticks. */
  get commandView() {
    return this.renderer.on ? Math.min(this.shownTick, 2 ** 32 - 1) * viewTick : 0;
  }
  /** datagram returns the Input datagram to send at now, valid until the next. */
  datagram(now4, acks, structure2) {
    this.sentAt = now4;
    const stamp = stampAt(now4);
    let from = 0;
    let fresh = this.unsent;
    if (this.early) {
      if (this.targetTick(now4) < this.list[0].tick) {
        from = 1;
        fresh--;
      } else if (fresh === 1) this.made = this.clock.server(now4);
    }
    const repeated = Math.max(fresh + this.before[0] + this.before[1], minRepeated);
    if (fresh > 0) {
      if (this.timed) {
        this.sent[this.next % echoedDatagrams] = { stamp, number: this.next, made: this.made, at: this.clock.server(now4), sent: now4, missing: false };
        this.next++;
      }
      this.before = [fresh, this.before[0]];
    }
    this.unsent -= fresh;
    this.early = this.unsent > 0;
    this.acked.copy(acks);
    encodeInput(this.w, stamp, acks, structure2, this.list, from, Math.min(repeated, this.list.length - from));
    return this.w.view();
  }
  /**
   * due reports whether to send a datagram after that many arrived. A new input is sent at
   * once, but one per tick; otherwise one datagram answers everything that arrived.
   */
  due(datagrams, now4, acks, waiting, streaming) {
    const age = now4 - this.sentAt;
    if (age >= this.patience || this.unsent >= maxUnsent || this.unsent > 0 && this.targetTick(now4) >= this.list[0].tick) return true;
    const unacked = !acks.equals(this.acked);
    if (unacked && streaming) return true;
    if (this.list.length > 0 && now4 - this.set < inputSoon && age < inputSoon) return false;
    return unacked || datagrams > 0 && waiting === 0;
  }
  /** patience is how long to wait for a snapshot before a datagram is sent without one. */
  get patience() {
    if (this.snapshotHz === 0) return handshakeTimeout;
    const interval2 = 1e3 / this.snapshotHz;
    return 2 * (this.unsent === 0 ? Math.max(interval2, Math.min(this.clock.interval, maxInterval)) : interval2);
  }
  /** reconnected forgets what was measured of the connection before. */
  reconnected() {
    this.timed = false;
    for (const d of this.sent) d.stamp = 0;
    this.sentAt = -Infinity;
  }
  /** echoed learns from a snapshot sent at sent, which echoes stamp, that arrived at arrived. Times are the server's. */
  echoed(now4, stamp, arrived, sent) {
    const most = this.trip.most;
    const newest = this.sent.find((d) => d.stamp === stamp)?.number ?? Infinity;
    for (const d of this.sent) {
      if (d.stamp === 0) continue;
      if (d.number === newest) {
        this.trip.add(arrived - d.at);
        this.ahead.add(now4, arrived - d.sent);
        this.lead.add(now4, arrived - d.made);
        d.stamp = 0;
      } else if ((stamp - d.stamp | 0) > 0) {
        if (d.missing && newest - d.number <= this.before.length) this.lead.add(now4, arrived - d.made);
        d.stamp = 0;
      } else d.missing ||= this.trip.known && sent - d.at > most;
    }
  }
};

// src/messages.ts
var messages_exports = {};
__export(messages_exports, {
  FrameReader: () => FrameReader,
  Type: () => Type,
  appendFrame: () => appendFrame,
  encodeBye: () => encodeBye,
  encodeCommand: () => encodeCommand,
  encodeHello: () => encodeHello,
  parseControl: () => parseControl,
  parseEnd: () => parseEnd,
  parseResult: () => parseResult,
  parseWelcome: () => parseWelcome
});

// src/msgpack.ts
var utf83 = new TextEncoder();
var MsgpackReader = class extends ByteReader {
  big(n) {
    let v = 0;
    for (let i = 0; i < n; i++) v = v * 256 + this.u8();
    return v;
  }
  big64() {
    const high = this.big(4);
    return BigInt(high) << 32n | BigInt(this.big(4));
  }
  /** array reads the head of an array of n elements, or of n or more. */
  array(n, orMore = false) {
    const c = this.u8();
    let length2 = -1;
    if (c >> 4 === 9) length2 = c & 15;
    else if (c === 220) length2 = this.big(2);
    else if (c === 221) length2 = this.big(4);
    if (length2 < n || length2 > n && !orMore) fail(`a message has ${length2} elements, want ${n}`);
    return length2;
  }
  /** uint reads an unsigned number of any form, at most max < 2^53. */
  uint(what, max) {
    const v = this.u64(what);
    if (v > BigInt(max)) fail(`${what} is ${v}, at most ${max}`);
    return Number(v);
  }
  /** u64 reads an unsigned number of any form. */
  u64(what) {
    const c = this.u8();
    if (c <= 127) return BigInt(c);
    if (c >= 204 && c <= 206) return BigInt(this.big(1 << c - 204));
    if (c !== 207) fail(`${what} is not an unsigned number`);
    return this.big64();
  }
  /** handle reads the 9 bytes of a handle. */
  handle(what) {
    if (this.u8() !== 207) fail(`${what} is not a handle`);
    return this.big64();
  }
  /** str reads UTF-8 of min to max bytes. */
  str(what, max, min = 0) {
    const c = this.u8();
    let n = -1;
    if (c >> 5 === 5) n = c & 31;
    else if (c >= 217 && c <= 219) n = this.big(1 << c - 217);
    if (n < min || n > max) fail(`${what}: want a str of ${min} to ${max} bytes`);
    return decodeText(this.bytes(n));
  }
  /** bin reads at most max bytes, and returns a copy. */
  bin(what, max) {
    const c = this.u8();
    const n = c >= 196 && c <= 198 ? this.big(1 << c - 196) : -1;
    if (n < 0 || n > max) fail(`${what}: want a bin of at most ${max} bytes`);
    return this.bytes(n).slice();
  }
  /**
   * value skips one value of any type but extensions. Arrays and maps that are not empty may
   * contain each other depth times.
   */
  value(depth = maxNesting) {
    const c = this.u8();
    let n = 0;
    if (c <= 127 || c >= 224 || c === 192 || c === 194 || c === 195) return;
    else if (c <= 143) n = 2 * (c & 15);
    else if (c <= 159) n = c & 15;
    else if (c <= 191) return void this.bytes(c & 31);
    else if (c >= 196 && c <= 198) return void this.bytes(this.big(1 << c - 196));
    else if (c === 202 || c === 203) return void this.bytes(c === 202 ? 4 : 8);
    else if (c >= 204 && c <= 211) return void this.bytes(1 << (c - 204 & 3));
    else if (c >= 217 && c <= 219) return void this.bytes(this.big(1 << c - 217));
    else if (c >= 220) n = this.big(c & 1 ? 4 : 2) * (c >= 222 ? 2 : 1);
    else fail(`msgpack of type ${c.toString(16)}`);
    if (n > 0 && depth === 0) fail(`more than ${maxNesting} arrays and maps contain each other`);
    for (; n > 0; n--) this.value(depth - 1);
  }
};
var MsgpackWriter = class extends ByteWriter {
  big(v, n) {
    for (let i = n - 1; i >= 0; i--) this.u8(Math.floor(v / 256 ** i) & 255);
  }
  array(n) {
    if (n < 16) this.u8(144 | n);
    else {
      this.u8(220);
      this.big(n, 2);
    }
  }
  uint(v) {
    if (v < 128) this.u8(v);
    else if (v < 2 ** 32) {
      const size = v < 256 ? 0 : v < 65536 ? 1 : 2;
      this.u8(204 + size);
      this.big(v, 1 << size);
    } else this.u64(BigInt(v));
  }
  u64(v) {
    this.u8(207);
    this.big(Number(v >> 32n), 4);
    this.big(Number(v & 0xffffffffn), 4);
  }
  str(s) {
    const b = utf83.encode(s);
    if (b.length < 32) this.u8(160 | b.length);
    else this.length(217, b.length);
    this.bytes(b);
  }
  bin(b) {
    this.length(196, b.length);
    this.bytes(b);
  }
  length(first, n) {
    const size = n < 256 ? 0 : n < 65536 ? 1 : 2;
    this.u8(first + size);
    this.big(n, 1 << size);
  }
  /** value writes any value of a raw command's arguments. */
  value(v) {
    if (v === null || v === void 0) this.u8(192);
    else if (typeof v === "boolean") this.u8(v ? 195 : 194);
    else if (typeof v === "number") this.number(v);
    else if (typeof v === "bigint") this.u64(BigInt.asUintN(64, v));
    else if (typeof v === "string") this.str(v);
    else if (v instanceof Uint8Array) this.bin(v);
    else if (Array.isArray(v)) {
      this.array(v.length);
      for (const x of v) this.value(x);
    } else if (typeof v === "object") {
      const all = Object.entries(v);
      this.u8(222);
      this.big(all.length, 2);
      for (const [key, x] of all) {
        this.str(key);
        this.value(x);
      }
    } else throw new TypeError(`cannot encode a ${typeof v}`);
  }
  number(v) {
    if (Number.isSafeInteger(v) && !Object.is(v, -0)) {
      if (v >= 0) this.uint(v);
      else {
        this.u8(211);
        this.big(Number(BigInt.asUintN(64, BigInt(v)) >> 32n), 4);
        this.big(v >>> 0, 4);
      }
      return;
    }
    const b = new DataView(new ArrayBuffer(8));
    b.setFloat64(0, v);
    this.u8(203);
    this.bytes(new Uint8Array(b.buffer));
  }
};

// src/messages.ts
var Type = {
  pad: 0,
  hello: 1,
  command: 2,
  bye: 3,
  resync: 4,
  arrived: 5,
  welcome: 16,
  refused: 17,
  structure: 18,
  result: 19,
  control: 20,
  goodbye: 21
};
var u16 = 65535;
var u32 = 4294967295;
function encodeHello(m) {
  const w = new MsgpackWriter();
  w.array(11);
  w.uint(version);
  w.u64(m.schema);
  w.uint(m.tables);
  w.u64(m.epoch);
  w.u64(m.session);
  w.bin(m.secret);
  w.uint(m.structure);
  w.bin(m.token);
  w.str(m.name);
  w.str(m.room);
  w.uint(m.abilities);
  return w.take();
}
function encodeCommand(m) {
  const w = new MsgpackWriter();
  w.array(7);
  w.uint(m.id);
  w.str(m.name);
  w.u64(m.target);
  w.bin(m.args);
  w.uint(m.provisional);
  w.uint(m.wishes);
  w.uint(m.view);
  return w.take();
}
function encodeBye(code, text = "") {
  const w = new MsgpackWriter();
  w.array(2);
  w.uint(code);
  w.str(text);
  return w.take();
}
function parseWelcome(b) {
  const r = new MsgpackReader(b);
  r.array(18);
  const m = {
    protocol: r.uint("protocol", u16),
    schema: r.u64("schema"),
    tables: r.uint("tables", u32),
    epoch: r.u64("epoch"),
    generationFloor: r.uint("generation_floor", u32),
    generationCeiling: r.uint("generation_ceiling", u32),
    tickHz: r.uint("tick_hz", u16),
    snapshotHz: r.uint("snapshot_hz", u16),
    maxSlots: r.uint("max_slots", u32),
    session: r.u64("session"),
    tick: r.uint("tick", u32),
    resumed: r.uint("resumed", 1) === 1,
    secret: r.bin("secret", 16),
    room: r.str("room", maxRoom),
    simulate: r.uint("simulate", 1) === 1,
    commands: r.uint("commands", u32),
    structure: r.uint("structure", u32),
    schemaText: r.str("schema_text", maxSchemaText)
  };
  r.expectEnd();
  if (m.secret.length !== 0 && m.secret.length !== 16) fail(`a secret of ${m.secret.length} bytes`);
  if (m.snapshotHz < 1 || m.snapshotHz > m.tickHz) fail(`${m.snapshotHz} snapshots in ${m.tickHz} ticks a second`);
  if (m.generationCeiling < m.generationFloor) fail(`generations ${m.generationFloor} to ${m.generationCeiling}`);
  return m;
}
function parseEnd(type, b) {
  const r = new MsgpackReader(b);
  const refused = type === Type.refused;
  const known = refused ? 5 : 4;
  const n = r.array(known, refused);
  const code = r.uint("code", u16);
  const text = r.str("text", maxText);
  if (refused) r.str("want", maxText);
  const address = r.str("address", maxText);
  const token = r.bin("token", maxToken);
  for (let i = known; i < n; i++) r.value(maxNesting - 1);
  r.expectEnd();
  const moved = code === Code.moved;
  if (moved ? address === "" : address !== "" || token.length > 0) fail("only moved has an address, and always");
  return new WireError(code, text, address, token);
}
function parseResult(b) {
  const r = new MsgpackReader(b);
  r.array(6);
  const m = {
    id: r.uint("id", u32),
    code: r.uint("code", u16),
    target: r.handle("target"),
    verdict: r.uint("verdict", 3),
    text: r.str("text", maxText),
    answer: r.bin("answer", maxArgs)
  };
  r.expectEnd();
  if (m.code !== Code.ok && m.answer.length > 0) fail(`an answer with code ${m.code}`);
  return m;
}
function parseControl(b) {
  const r = new MsgpackReader(b);
  r.array(1);
  const entity = r.handle("entity");
  r.expectEnd();
  return entity;
}
function appendFrame(w, type, body2) {
  w.uvarint(body2.length + 1);
  w.u8(type);
  w.bytes(body2);
}
var FrameReader = class {
  b = new Uint8Array(1024);
  from = 0;
  to = 0;
  /** type of the frame that next returned. */
  type = 0;
  feed(p) {
    if (this.from === this.to) this.from = this.to = 0;
    if (this.to + p.length > this.b.length) {
      const left = this.to - this.from;
      const b = left + p.length > this.b.length ? new Uint8Array(Math.max(2 * this.b.length, left + p.length)) : this.b;
      b.set(this.b.subarray(this.from, this.to));
      this.b = b;
      this.from = 0;
      this.to = left;
    }
    this.b.set(p, this.to);
    this.to += p.length;
  }
  /** size is the memory of the buffer. */
  get size() {
    return this.b.length;
  }
  /** next returns the body of the next whole frame, valid until the next feed, or undefined. */
  next() {
    let length2 = 0;
    let at = this.from;
    for (let shift = 0; ; shift += 7) {
      if (at === this.to) return void 0;
      const c = this.b[at++];
      length2 += (c & 127) * 2 ** shift;
      if (c < 128) {
        if (c === 0 && shift > 0) fail("the length of a frame is not in its shortest form");
        break;
      }
      if (shift === 14) fail("a frame is too long");
    }
    if (length2 < 1 || length2 > maxFrame) fail(`a frame of ${length2} bytes`);
    if (this.to - at < length2) return void 0;
    this.type = this.b[at];
    this.from = at + length2;
    return this.b.subarray(at + 1, this.from);
  }
};

// src/simulation.ts
var bodyLines = ["Position[0]", "Position[1]", "Position[2]", "Velocity[0]", "Velocity[1]", "Velocity[2]"];
function checkBodies(s, tickHz) {
  const body2 = s.components.find((c) => c.name === "body");
  const ok = body2?.fields.length === 6 && body2.fields.every((f2, i) => f2.path === bodyLines[i] && f2.linear && !f2.owner && f2.kind === "range" && (i < 3 ? f2.low === -1024 && f2.step === 1 / 256 && f2.largest === 524288 : f2.low === -128 && f2.step === 1 / 32 && f2.largest === 8192));
  if (!ok || s.motion?.tickHz !== tickHz) fail("the session simulates, but the schema lacks the component body or the motion line for it");
}

// src/session.ts
var maxExtrapolate = 0.25;
var defaultMaxEntities = 65536;
var defaultMaxBytes = 256 * 2 ** 20;
var minMaxBytes = 2 ** 20;
var resyncEvery = 1e3;
var maxResyncs = 10;
var resyncsWithin = 3e4;
var noBytes = new Uint8Array(0);
var NotJoinedError = class extends Error {
  constructor() {
    super("not joined: wait for the session");
    this.name = "NotJoinedError";
  }
};
var DivergedError = class extends Error {
  constructor() {
    super("computed bodies kept differing from the server's, or took too long: the next session receives them as rows");
    this.name = "DivergedError";
  }
};
var resumedAlike = ["session", "epoch", "generationFloor", "generationCeiling", "maxSlots", "schema", "simulate"];
var movedAlike = ["protocol", "tables", "session"];
function same(a, b, keys) {
  return keys.every((k) => a[k] === b[k]);
}
var noWorld = { generationFloor: 0, generationCeiling: 0, maxSlots: 0, tickHz: 1, snapshotHz: 0, simulate: false };
var Session = class {
  /** welcome is the newest Welcome, undefined before the first. */
  welcome;
  /** replica is undefined before the first Welcome; a new session has a new one. */
  replica;
  /** controlled is the entity that this session's inputs steer, none if there is none. */
  controlled = none;
  /** rtt is the newest round trip in ms. */
  rtt = 0;
  /** @internal moved says that the newest Welcome moved the session to another room. */
  moved = false;
  /** @internal onWelcome is called for each Welcome before anything that follows it. */
  onWelcome;
  /** @internal goodbye says that the server sent Goodbye. */
  goodbye = false;
  /** @internal freshToken says that the next Hello may begin a session though its token is used. */
  freshToken = false;
  /** @internal prediction is that of predict. */
  prediction;
  /** @internal rendered is when the newest render was, and the tick with fractions for which an input was made then; 0: unknown. */
  rendered = { at: 0, inputTick: 0 };
  /** @internal inputShape is that of the input that the schema declares. */
  inputShape;
  events;
  config;
  layout;
  // of the newest Welcome
  named = 0n;
  // schema in this connection's Hello; 0 asks for the text
  resumes = false;
  // this connection's Hello asks to resume
  able = false;
  // this connection's Hello says that the client simulates
  room;
  // of the next Hello
  outdated = false;
  // the server refused the schema of layout
  epoch;
  token;
  joinedNow = false;
  error;
  frames = new FrameReader();
  out = new ByteWriter();
  command = 0;
  // id of the newest
  commands = 0;
  // number in the session of the newest that is not known to be lost
  unanswered = [];
  wishes = new Wishes();
  stats = new ReplicaStats();
  clock = new Clock(1);
  renderer = new Renderer();
  inputs = new Inputs(this.clock, this.renderer, 0);
  faultsKnown = 0;
  resyncAt = -Infinity;
  // before which no Resync for computed bodies is sent
  resyncs = 0;
  // for computed bodies, in a row
  ordinary = false;
  // there were too many: Hello says that the client does not simulate
  bits = new BitReader();
  constructor(config) {
    this.config = config;
    this.epoch = config.epoch ?? 0n;
    this.token = config.token ?? noBytes;
    this.room = config.room ?? "";
    this.events = config.events ?? new Events();
    checkLimit("maxEntities", config.maxEntities, 1, defaultMaxEntities);
    checkLimit("maxBytes", config.maxBytes, minMaxBytes, defaultMaxBytes);
    checkText("name", config.name, maxName);
    checkText("room", config.room, maxRoom);
    if ((config.token?.length ?? 0) > maxToken) throw new RangeError(`token has ${config.token.length} bytes, at most ${maxToken}`);
    this.send(Type.hello, this.hello());
  }
  send(type, body2) {
    appendFrame(this.out, type, body2);
  }
  /** takeStream returns the bytes to write to the stream. */
  takeStream() {
    const out = this.out.take();
    this.out.reset();
    return out;
  }
  /** joined reports whether this connection has had its Welcome. */
  get joined() {
    return this.joinedNow && this.error === void 0;
  }
  /** schema is the server's, undefined before the first Welcome. */
  get schema() {
    return this.layout?.schema;
  }
  hello() {
    const { config, welcome: welcome2 } = this;
    this.named = this.layout && !this.outdated ? this.layout.schema.hash : 0n;
    const resumes = this.resumes = welcome2 !== void 0 && welcome2.secret.length > 0 && !this.divergent;
    this.able = this.simulates;
    return encodeHello({
      schema: this.named,
      tables: config.tables.version,
      epoch: welcome2 ? 0n : this.epoch,
      session: resumes ? welcome2.session : 0n,
      secret: resumes ? welcome2.secret : noBytes,
      structure: resumes ? this.replica.structure : 0,
      token: this.token,
      name: config.name ?? "",
      room: this.room,
      abilities: this.able ? 1 : 0
    });
  }
  /** receiveStream applies bytes of the stream, in pieces of any size. What it throws ends the session. */
  receiveStream(p) {
    if (this.error !== void 0) throw this.error;
    try {
      this.frames.feed(p);
      for (let body2 = this.frames.next(); body2 !== void 0; body2 = this.frames.next()) this.message(this.frames.type, body2);
    } catch (e) {
      this.error = e;
      throw e;
    }
    this.checkFaults();
    this.prediction?.sync();
  }
  message(type, body2) {
    const { Type: Type2 } = messages_exports;
    if (!this.joinedNow && type !== Type2.welcome && type !== Type2.refused) fail(`a message of type ${type} before Welcome`);
    switch (type) {
      case Type2.pad:
        if (body2.length > 0) fail("a Pad that is not empty");
        break;
      case Type2.welcome:
        this.receiveWelcome(body2);
        break;
      case Type2.refused:
      case Type2.goodbye: {
        const end = parseEnd(type, body2);
        if (end.code === Code.schemaMismatch && this.named !== 0n) this.outdated = true;
        this.goodbye = type === Type2.goodbye;
        throw end;
      }
      case Type2.structure:
        this.replica.applyStructure(body2);
        break;
      case Type2.result:
        this.receiveResult(body2);
        break;
      case Type2.control:
        this.controlled = parseControl(body2);
        break;
      default:
        fail(`a message of type ${type}`);
    }
  }
  receiveWelcome(body2) {
    const m = parseWelcome(body2);
    const { tables } = this.config;
    if (this.joinedNow) this.checkMove(m);
    if (m.protocol !== version) throw new WireError(Code.protocolVersion, `the server speaks version ${m.protocol}, the client ${version}`);
    if (m.tables !== tables.version) throw new WireError(Code.tablesMismatch, `the server has tables ${m.tables.toString(16)}, the client ${tables.version.toString(16)}`);
    if (!this.welcome && this.epoch !== 0n && m.epoch !== this.epoch) throw new WireError(Code.epochMismatch);
    if (m.maxSlots > maxSlots) fail(`a world of ${m.maxSlots} slots`);
    if (m.simulate && !this.able) fail("simulate, which the client did not ask for");
    this.join(m, this.layoutOf(m));
  }
  /** checkMove checks a Welcome after the first of a connection: section 4.2. */
  checkMove(m) {
    const was = this.welcome;
    if (!same(was, m, movedAlike) || m.epoch === was.epoch || m.resumed || m.commands !== 0) fail("a Welcome that is no move to another room");
  }
  /** layoutOf returns the layout of the schema that a Welcome names, and brings if the client lacks it. */
  layoutOf(m) {
    const known = this.joinedNow ? this.layout.schema.hash : this.named;
    if (m.schema === known || !this.joinedNow && known !== 0n) {
      if (m.schemaText !== "") fail("a schema text, which the client has");
      if (m.schema !== known) fail("another schema than in Hello");
      return this.layout;
    }
    const schema2 = parseSchema(m.schemaText);
    if (schema2.hash !== m.schema) fail("a schema text with another hash");
    return this.layout?.schema.hash === schema2.hash ? this.layout : new Layout(schema2);
  }
  /** join handles a checked Welcome: the session resumes or moves, or a new one begins (section 4). */
  join(m, layout) {
    const was = this.welcome;
    if (m.resumed && !(was && was.secret.length > 0 && same(was, m, resumedAlike))) fail("a session resumes, which was not requested");
    const moves = this.joinedNow;
    const own = this.replica?.structure ?? 0;
    this.moved = moves || this.resumes && m.session === was.session && m.epoch !== was.epoch && m.structure > own;
    const want = moves ? own + 1 : this.moved ? m.structure : m.resumed ? own : 0;
    if (m.structure !== want) fail(`a Welcome of structure record ${m.structure}, want ${want}`);
    const before2 = this.replica;
    if (was && was.epoch !== m.epoch) this.forget();
    this.layout = layout;
    this.outdated = false;
    this.commands = m.commands;
    if (m.resumed) {
      this.wishes.resumed(m.commands, m.tick);
      this.inputs.reconnected();
      this.renderer.resumed = true;
    } else {
      this.wishes.renew();
      before2?.deliverRendered(Infinity);
      before2?.leaveAll();
      if (m.simulate) checkBodies(layout.schema, m.tickHz);
      this.renew(layout, m);
      if (before2 && was?.epoch === m.epoch) this.replica.inheritStale(before2);
      if (this.moved) this.replica.follow(m.structure, moves ? before2 : void 0);
    }
    this.replica.able = this.able;
    this.welcome = { ...m, schemaText: "" };
    this.room = m.room;
    this.joinedNow = true;
    if (moves) {
      this.abandon();
      this.send(Type.arrived, noBytes);
    }
    if (this.onWelcome) guard(this.onWelcome);
    if (moves) this.replica.release();
  }
  /** forget drops everything known of a world that is gone: every handle is Stale. */
  forget() {
    this.replica?.deliverRendered(Infinity);
    this.replica?.destroyAll();
    this.wishes.forget();
    this.layout ??= new Layout(parseSchema("worldd schema 2\ninput raw\n"));
    this.renew(this.layout, noWorld);
    this.welcome = void 0;
    this.epoch = 0n;
  }
  /** renew makes an empty replica, which keeps the counters, and an unset clock. */
  renew(layout, m) {
    const { config } = this;
    const limits = { entities: config.maxEntities ?? defaultMaxEntities, bytes: config.maxBytes ?? defaultMaxBytes };
    this.replica = new Replica(layout, config.tables, m.generationFloor, m.generationCeiling, m.maxSlots, limits, config.observer ?? {}, this.events, this.wishes, this.stats, m.simulate ? config.simulation : void 0);
    this.controlled = none;
    this.clock = new Clock(m.tickHz);
    this.renderer = new Renderer();
    this.inputs = new Inputs(this.clock, this.renderer, m.snapshotHz);
    const { input } = layout.schema;
    this.inputShape = input && new Shape(input.fields, input.texts);
    this.prediction?.renew();
  }
  /** asksAgain reports whether why says that the schema or the room is not what it was: the next Hello asks for the schema, or for the room of the config. */
  asksAgain(why) {
    const { room = "" } = this.config;
    const roomGone = why.code === Code.noRoom && this.room !== room;
    if (roomGone) this.room = room;
    return roomGone || why.code === Code.schemaMismatch && this.outdated;
  }
  /** lost tells the session that its connection ended, and why. The replica stays, and resolve answers. */
  lost(why) {
    if (this.joinedNow) this.prediction?.pause();
    this.joinedNow = false;
    this.abandon();
    if (why instanceof WireError && why.code === Code.epochMismatch) this.forget();
  }
  /** abandon ends the commands that will not be answered. */
  abandon() {
    for (const f2 of this.unanswered.splice(0)) {
      this.finish(f2, { id: f2.id, target: f2.target, code: void 0, codeName: "unanswered", verdict: "pending", text: "", answer: void 0, payload: void 0 });
    }
  }
  /** forgetServer makes the next Hello begin a new session and ask for the schema: another server knows neither. */
  forgetServer() {
    this.outdated = true;
    this.room = this.config.room ?? "";
    if (this.welcome) this.welcome = { ...this.welcome, secret: noBytes };
  }
  /** setToken sets the token of the next Hello. */
  setToken(token) {
    this.token = token;
  }
  /** reconnect starts over on another connection, after lost: takeStream returns a new Hello. */
  reconnect() {
    this.frames = new FrameReader();
    this.out.reset();
    this.error = void 0;
    this.goodbye = false;
    this.send(Type.hello, this.hello());
  }
  /** bye queues a Bye: the client leaves, and why. */
  bye(code) {
    this.send(Type.bye, encodeBye(code));
  }
  /** receiveDatagram applies a datagram that arrived at now; undefined: before Welcome. */
  receiveDatagram(d, now4) {
    if (!this.joinedNow) return void 0;
    const r = this.replica;
    const outcome = r.applyState(d);
    if (outcome !== "duplicate") this.measure(now4);
    if (r.tick > this.clock.hz) r.deliverRendered(r.tick - this.clock.hz);
    this.checkFaults();
    this.checkBodies(now4);
    this.prediction?.sync();
    return outcome;
  }
  /** measure learns from the header of the newest datagram. */
  measure(now4) {
    const h = this.replica.stateHeader;
    const c = this.clock;
    if (h.echo !== 0 && h.hold !== 65535) {
      const hold = h.hold / 10;
      this.rtt = Math.max((stampAt(now4) - h.echo | 0) / 10 - hold, 0);
      c.trips.add(now4, this.rtt);
      const sent = c.timeOf(h.tick);
      this.inputs.echoed(now4, h.echo, sent - hold, sent);
    }
    const before2 = c.tick;
    c.snapshot(now4, h.tick);
    if (h.tick > before2) this.renderer.snapshot(now4, c, before2);
  }
  /** checkFaults requests everything again after a datagram whose fold was wrong. */
  checkFaults() {
    const { faults } = this.stats;
    if (faults > this.faultsKnown) this.send(Type.resync, noBytes);
    this.faultsKnown = faults;
  }
  /** checkBodies requests everything again if computed bodies differ from the server's, or were not computed in time. */
  checkBodies(now4) {
    const { bodies } = this.replica;
    if (!bodies || now4 < this.resyncAt || !bodies.needsResync()) return;
    if (now4 - this.resyncAt > resyncsWithin - resyncEvery) this.resyncs = 0;
    this.resyncs++;
    if (this.resyncs === maxResyncs && (this.token.length === 0 || this.freshToken)) this.ordinary = true;
    this.resyncAt = now4 + resyncEvery;
    this.send(Type.resync, noBytes);
  }
  /** simulates reports whether the next session computes bodies if the server allows it. */
  get simulates() {
    return this.config.simulation !== void 0 && !this.ordinary;
  }
  /** @internal divergent reports whether the session computes bodies, but should not any more. */
  get divergent() {
    return this.ordinary && this.welcome?.simulate === true;
  }
  /** resolve returns the verdict on any handle; pending before the first Welcome. */
  resolve(h) {
    return this.replica?.resolve(h) ?? "pending";
  }
  /** render returns the moment to show at now. From the first call on, the replica keeps states for it. */
  render(now4) {
    const r = this.replica;
    const { clock, renderer, inputs } = this;
    if (!r) return { tick: 0, newest: 0, maxExtrapolate: 0 };
    r.span = Math.ceil(clock.ticks(maxDelay));
    this.rendered = { at: now4, inputTick: inputs.inputTick(now4) };
    if (renderer.delay.count === 0) return { tick: 0, newest: 0, maxExtrapolate: 0 };
    renderer.advance(now4, clock);
    const tick = inputs.shownTick;
    r.shown = Math.floor(tick);
    r.deliverRendered(r.shown);
    return { tick, newest: r.tick, maxExtrapolate: maxExtrapolate * clock.hz };
  }
  /** link describes the connection: times in ms. */
  get link() {
    return { rtt: this.clock.trips.least, jitter: this.clock.jitter, delay: this.renderer.delay.value, lead: this.inputs.lead.value };
  }
  /** serverTick returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now4) {
    return this.clock.serverTick(now4);
  }
  // Inputs: section 10.
  /** setInput sets what the player holds down from now on, and returns the tick that it is for. */
  setInput(input, now4) {
    const m = this.schema?.input;
    if (m ? input instanceof Uint8Array : !(input instanceof Uint8Array)) throw new TypeError(m ? "the schema declares the input: want an object" : "inputs are raw: want bytes");
    if (!m) {
      if (input.length > maxInputBytes) throw new RangeError(`an input of ${input.length} bytes, at most ${maxInputBytes}`);
      return this.inputs.push(input.slice(), now4, this.replica?.input ?? 0);
    }
    return this.setPayload(this.inputShape.quantise(input, m.values), now4);
  }
  /** @internal setPayload is setInput of a quantised input, which it may change. */
  setPayload(p, now4) {
    const m = this.schema.input;
    const wishes = this.wishes.forward(m, p, true);
    const tick = this.inputs.push(m.append(p), now4, this.replica?.input ?? 0);
    this.wishes.pushed(wishes, tick);
    this.prediction?.input(tick, this.inputShape.restore(p));
    return tick;
  }
  /** input returns the Input datagram to send at now, undefined before Welcome. */
  input(now4) {
    const r = this.replica;
    return this.joined && r ? this.inputs.datagram(now4, r.acks, r.structure) : void 0;
  }
  /** inputDue reports whether to send an input at now, if that many datagrams arrived since the last. */
  inputDue(datagrams, now4, streaming) {
    const r = this.replica;
    return this.joined && r !== void 0 && this.inputs.due(datagrams, now4, r.acks, r.waiting, streaming);
  }
  // Commands: section 11.5.
  /** provisional returns a new name for an entity that a command or an input is about to ask for. */
  provisional() {
    if (!this.welcome) throw new NotJoinedError();
    return this.wishes.take();
  }
  /** real returns the handle that a provisional one stands for, none without one; any other as it is. */
  real(h) {
    return isProvisional(h) ? this.wishes.entity(indexOf(h)) : h;
  }
  /** do asks the server to execute a command once. Arguments are as the schema declares them. */
  do(name, args = {}, target = none) {
    const kind = this.commandKind(name);
    if (!kind?.args) throw new TypeError(`the schema declares no command ${name} with arguments`);
    return this.doPayload(kind, new Shape(kind.args.fields, kind.args.texts).quantise(args, kind.args.values), target);
  }
  /** @internal doPayload is do with quantised arguments, which it may change. */
  doPayload(kind, p, target) {
    const wishes = this.wishes.forward(kind.args, p, false);
    return this.sendCommand(kind.name, target, kind.args.append(p), wishes);
  }
  /**
   * doRaw asks for a raw command: args is any value that msgpack has, or undefined for none,
   * and wishes are the provisional handles that it asks for.
   */
  doRaw(name, args, target = none, wishes = []) {
    if (this.commandKind(name)?.args) throw new TypeError(`the schema declares the arguments of ${name}: use do`);
    checkText("command", name, maxName);
    let body2 = noBytes;
    if (args !== void 0) {
      const w = new MsgpackWriter();
      w.value(args);
      body2 = w.take();
      new MsgpackReader(body2).value();
    }
    return this.sendCommand(name, target, body2, this.wishes.ofCommand(wishes));
  }
  commandKind(name) {
    return this.schema?.commands.find((c) => c.name === name);
  }
  sendCommand(name, target, args, wishes) {
    if (!this.joined) throw new NotJoinedError();
    if (name === "" || args.length > maxArgs) throw new RangeError(`command ${name} with ${args.length} bytes of arguments, at most ${maxArgs}`);
    if (this.unanswered.length === maxUnanswered) throw new RangeError(`${maxUnanswered} commands are unanswered`);
    checkWishes(wishes);
    const real = this.real(target);
    if (real !== target && real === none) throw new RangeError("the target is provisional: command the entity after the answer");
    const id = this.command = this.command + 1 >>> 0;
    this.commands++;
    const provisional = wishes[0] ?? 0;
    this.wishes.sent(provisional, wishes.length, this.commands);
    this.send(Type.command, encodeCommand({ id, name, target: real, args, provisional, wishes: wishes.length, view: this.inputs.commandView }));
    const result = new Promise((resolve) => this.unanswered.push({ id, name, target: real, provisional, wishes: wishes.length, resolve }));
    return { id, result };
  }
  receiveResult(body2) {
    const m = parseResult(body2);
    let verdict = verdicts[m.verdict];
    let { code } = m;
    if (verdict === "pending" && this.resolve(m.target) === "stale") {
      verdict = "stale";
      if (code === Code.unknownHandle) code = Code.staleHandle;
    }
    const i = this.unanswered.findIndex((f3) => f3.id === m.id);
    const f2 = this.unanswered[i];
    const form = f2 && this.commandKind(f2.name)?.answer;
    const payload = f2 && code === Code.ok ? this.readAnswer(form, m.answer) : void 0;
    if (f2) {
      this.unanswered.splice(i, 1);
      this.wishes.result(f2.provisional, f2.wishes);
    }
    const answer = form && payload ? new Shape(form.fields, form.texts).restore(payload) : void 0;
    this.finish(f2, { id: m.id, target: m.target, code, codeName: codeName(code), verdict, text: m.text, answer, payload });
  }
  readAnswer(form, b) {
    if (form) return form.parse(this.bits, b);
    if (b.length > 0) fail("an answer to a command that has none");
    return void 0;
  }
  finish(f2, r) {
    f2?.resolve(r);
    if (this.config.result) guard(() => this.config.result(r));
  }
};
function checkLimit(what, n, least, otherwise) {
  if (n !== void 0 && !(Number.isSafeInteger(n) && n >= least)) {
    throw new RangeError(`${what} is ${n}: in the client's config, give a whole number of at least ${least}, or undefined for ${otherwise}`);
  }
}
function checkText(what, s, max) {
  const n = new TextEncoder().encode(s ?? "").length;
  if (n > max) throw new RangeError(`${what} has ${n} bytes, at most ${max}`);
}

// src/client.ts
var minBackoff = 250;
var maxBackoff = 5e3;
var stableAfter = 1e4;
var maxMoves = 4;
var defaultGiveUp = 6e4;
var joinTimeout = 5e3;
var lostAfter = 4e3;
var maxCheckGap = 1e3;
var beat = 50;
var now2 = () => performance.now();
var Client = class _Client {
  config;
  /** @internal */
  session;
  events;
  url;
  link;
  stateNow = "connecting";
  error;
  updating = false;
  datagrams = 0;
  // since the newest Input
  heard = 0;
  checked = 0;
  began = 0;
  // of the outage
  joinedAt = 0;
  attempts = 0;
  moves = 0;
  epoch = 0n;
  // of the world before the outage
  timer;
  metronome;
  joining;
  streamed = false;
  // since the newest Input
  constructor(config, tables) {
    this.config = config;
    this.url = config.url;
    this.events = new Events();
    this.session = new Session({ ...config, tables, events: this.events });
    this.session.freshToken = config.freshToken !== void 0;
    this.session.onWelcome = () => this.joined();
    this.metronome = new Metronome(() => this.tryUpdate());
  }
  /** connect returns a client that has joined. It rejects with a WireError if the server refuses. */
  static async connect(config) {
    const c = new _Client(config, config.tables ?? await defaultTables());
    let timer;
    try {
      const link = await c.dial();
      const joined = new Promise((resolve, reject) => {
        c.joining = { resolve, reject };
        timer = setTimeout(() => reject(new WireError(Code.timeout, "no Welcome from the server")), joinTimeout);
      });
      c.attach(link);
      link.sendStream(c.session.takeStream());
      c.tryUpdate();
      await joined;
      return c;
    } catch (e) {
      c.close();
      throw e;
    } finally {
      clearTimeout(timer);
      c.joining = void 0;
    }
  }
  async dial() {
    const { dial, certificateHashes } = this.config;
    if (dial) return dial(this.url, now2);
    const hashes = typeof certificateHashes === "function" ? await certificateHashes() : certificateHashes ?? [];
    return dialWebTransport(this.url, hashes, now2);
  }
  attach(link) {
    this.link = link;
    this.heard = this.checked = now2();
    link.arrived = () => {
      if (this.stateNow !== "joined") this.tryUpdate();
    };
  }
  /**
   * update applies everything that has arrived, runs the callbacks and answers. It throws when
   * the client has ended; a lost connection is no error: it is replaced.
   */
  update() {
    if (this.updating) throw new Error("update was called from a callback");
    this.updating = true;
    try {
      this.receive();
    } finally {
      this.updating = false;
    }
    if (this.stateNow === "ended") throw this.error;
  }
  tryUpdate() {
    if (this.updating || this.stateNow === "ended") return;
    try {
      this.update();
    } catch {
    }
  }
  receive() {
    const { link, session } = this;
    if (!link || this.stateNow === "ended") return;
    const arrivals = link.receive();
    let ended;
    try {
      for (const b of arrivals.stream) session.receiveStream(b);
    } catch (e) {
      ended = e;
    }
    try {
      if (ended === void 0 || session.goodbye) for (const d of arrivals.datagrams) session.receiveDatagram(d.bytes, d.at);
    } catch (e) {
      ended ??= e;
    }
    ended ??= arrivals.error;
    const t = now2();
    this.datagrams += arrivals.datagrams.length;
    this.streamed ||= arrivals.stream.length > 0;
    if (this.silent(t, arrivals.stream.length + arrivals.datagrams.length > 0)) {
      ended ??= new WireError(Code.timeout, `nothing arrived from the server for ${lostAfter / 1e3} s`);
    }
    if (this.stateNow === "joined" && this.session.divergent && this.config.giveUp !== 0) ended ??= new DivergedError();
    if (ended !== void 0) {
      this.lost(ended);
      return;
    }
    this.sendInput(t);
    this.flush();
  }
  /** silent reports whether the server has been silent for too long. A page that was frozen checks before it reads. */
  silent(t, arrived) {
    this.heard += Math.max(t - this.checked - maxCheckGap, 0);
    this.checked = t;
    if (arrived) this.heard = t;
    return t - this.heard > lostAfter;
  }
  sendInput(t) {
    if (!this.link || !this.session.inputDue(this.datagrams, t, this.streamed)) return;
    const d = this.session.input(t);
    if (d) this.link.sendDatagram(d);
    this.datagrams = 0;
    this.streamed = false;
  }
  flush() {
    this.link?.sendStream(this.session.takeStream());
  }
  // Reconnecting: as client/reconnect.go.
  joined() {
    const w = this.session.welcome;
    const { moved } = this.session;
    const reconnected = this.stateNow === "reconnecting";
    if (this.stateNow !== "joined") this.joinedAt = now2();
    this.metronome.start();
    this.enter("joined", { resumed: w.resumed, moved, newWorld: reconnected && !moved && w.epoch !== this.epoch });
    this.joining?.resolve();
  }
  enter(state, change) {
    this.stateNow = state;
    const f2 = this.config.state;
    if (f2) guard(() => f2({ state, resumed: false, moved: false, newWorld: false, ...change }));
  }
  lost(why) {
    const t = now2();
    const giveUp = this.config.giveUp ?? defaultGiveUp;
    if (this.stateNow === "joined") {
      this.began = t;
      if (t - this.joinedAt >= stableAfter) this.attempts = this.moves = 0;
    }
    if (why instanceof WireError && why.code === Code.moved && this.stateNow !== "connecting") {
      this.follow(why);
      return;
    }
    const retry = why instanceof WireError ? why.retry || this.session.asksAgain(why) : true;
    if (giveUp === 0 || this.stateNow === "connecting" || !retry || t - this.began > giveUp) {
      this.end(why);
      return;
    }
    this.leaveConnection(why);
    const n = this.attempts++;
    const delay = n === 0 ? Math.random() * minBackoff : (1 + Math.random()) / 2 * Math.min(minBackoff * 2 ** n, maxBackoff);
    this.reconnect(delay, void 0);
  }
  leaveConnection(why) {
    if (this.session.divergent) this.leaveSession(Code.ok);
    else this.link?.close(Code.timeout);
    this.link = void 0;
    if (this.stateNow === "joined") {
      this.epoch = this.session.welcome?.epoch ?? 0n;
      this.enter("reconnecting", { error: why });
    }
    this.session.lost(why);
  }
  /** follow connects to the server that the present one names, where a new session begins. */
  follow(to) {
    if (this.moves++ === maxMoves || !/^[^/?#@\s]+:\d{1,5}$/.test(to.address)) {
      this.end(to);
      return;
    }
    this.leaveConnection(to);
    const url = new URL(this.url);
    url.host = to.address;
    this.url = url.href;
    this.session.forgetServer();
    this.reconnect(0, to.token);
  }
  reconnect(delay, token) {
    this.timer = setTimeout(() => void this.attempt(token), delay);
  }
  async attempt(token) {
    let link;
    try {
      token ??= await this.config.freshToken?.();
      link = await this.dial();
    } catch (e) {
      if (this.stateNow !== "ended") this.lost(e);
      return;
    }
    if (this.stateNow === "ended") {
      link.close(Code.ok);
      return;
    }
    if (token) this.session.setToken(token);
    this.session.reconnect();
    this.attach(link);
    this.flush();
  }
  end(why) {
    this.error = why;
    this.stateNow = "ended";
    this.metronome.stop();
    clearTimeout(this.timer);
    this.session.lost(why);
    this.leaveSession(why instanceof WireError ? why.code : Code.ok);
    this.link = void 0;
    this.enter("ended", { error: why });
    this.joining?.reject(why);
  }
  /** leaveSession ends the session and its connection. */
  leaveSession(code) {
    if (!this.link) return;
    this.session.bye(code);
    try {
      this.flush();
    } catch {
    }
    this.link.close(code);
  }
  /** close leaves the session. It may be called more than once. */
  close() {
    if (this.stateNow !== "ended") this.end(new WireError(Code.ok, "closed"));
  }
  // What a game uses.
  /** state is the state of the connection. */
  get state() {
    return this.stateNow;
  }
  /** replica changes in update only. Ask for it each time: a new session has a new one. */
  get replica() {
    return this.session.replica;
  }
  /** schema is the server's. */
  get schema() {
    return this.session.schema;
  }
  /** welcome describes the session: tick rates, epoch, room. */
  get welcome() {
    return this.session.welcome;
  }
  /** controlled is the entity that this client's inputs steer, none if there is none. It may be pending. */
  get controlled() {
    return this.session.controlled;
  }
  /** linkStats describe the connection: times in ms. */
  get linkStats() {
    return { ...this.session.link, bytesReceived: this.link?.bytesReceived ?? 0 };
  }
  /** lookup returns the entity of a handle, undefined unless it is live. */
  lookup(h) {
    return this.session.replica?.entity(h);
  }
  /** resolve returns the verdict on any handle. */
  resolve(h) {
    return this.session.resolve(h);
  }
  /** render returns the moment to show in a picture drawn now. */
  render() {
    return this.session.render(now2());
  }
  /** on calls f for events of a name, rendered: when the render reaches their tick. */
  on(event, f2, rendered = false) {
    this.events.on(event, f2, rendered);
  }
  /** setInput sets what the player holds down from now on, as the schema declares it, and returns its tick. */
  setInput(input) {
    const t = now2();
    const tick = this.session.setInput(input, t);
    this.sendInput(t);
    return tick;
  }
  /** do asks the server to execute a command once. The result says what became of it. */
  do(name, args = {}, target = none) {
    return this.sent(this.session.do(name, args, target));
  }
  /** doRaw is do for commands whose arguments the schema does not declare. */
  doRaw(name, args, target = none, wishes = []) {
    return this.sent(this.session.doRaw(name, args, target, wishes));
  }
  sent(c) {
    if (!this.updating) this.flush();
    return c.result;
  }
  /** provisional returns a name for an entity that a command or an input is about to ask for. */
  provisional() {
    return this.session.provisional();
  }
  /** real returns the handle that a provisional one stands for. */
  real(h) {
    return this.session.real(h);
  }
};
var Metronome = class {
  f;
  worker;
  timer;
  constructor(f2) {
    this.f = f2;
  }
  start() {
    if (this.worker || this.timer !== void 0) return;
    const hidden2 = () => {
      if (typeof document === "undefined" || document.hidden) this.f();
    };
    try {
      const url = URL.createObjectURL(new Blob([`setInterval(() => postMessage(0), ${beat})`], { type: "text/javascript" }));
      this.worker = new Worker(url);
      URL.revokeObjectURL(url);
      this.worker.onmessage = hidden2;
      this.worker.onerror = () => this.slow(hidden2);
    } catch {
      this.slow(hidden2);
    }
  }
  /** slow uses a timer, where a page's policy forbids the worker. */
  slow(f2) {
    this.worker?.terminate();
    this.worker = void 0;
    this.timer ??= setInterval(f2, beat);
  }
  stop() {
    this.worker?.terminate();
    clearInterval(this.timer);
    this.worker = void 0;
    this.timer = void 0;
  }
};

// src/predict_window.ts
var window = 128;
var maxPredicted = window - 1;
var maxOnce = 8;
function slotOf(tick) {
  return tick % window;
}

// src/predict_once.ts
var Effects = class {
  undone = [];
  ticks = new Uint32Array(window);
  // whose effects a slot holds
  keys = Array.from({ length: window }, () => []);
  asked = new Uint8Array(window);
  // bit i: the newest call of step asked for key i
  /** begin prepares for a call of the step function for tick. */
  begin(tick) {
    const slot2 = slotOf(tick);
    if (this.ticks[slot2] !== tick) {
      this.ticks[slot2] = tick;
      this.keys[slot2].length = 0;
    }
    this.asked[slot2] = 0;
  }
  /** ask reports whether key is new at tick. */
  ask(tick, key) {
    const slot2 = slotOf(tick);
    const keys = this.keys[slot2];
    const i = keys.indexOf(key);
    if (i >= 0) {
      this.asked[slot2] |= 1 << i;
      return false;
    }
    if (keys.length === maxOnce) return false;
    this.asked[slot2] |= 1 << keys.length;
    keys.push(key);
    return true;
  }
  /** end drops the effects of tick that its step did not ask for. */
  end(tick) {
    const slot2 = slotOf(tick);
    const asked = this.asked[slot2];
    this.keys[slot2] = this.keys[slot2].filter((key, i) => {
      const kept = (asked >> i & 1) !== 0;
      if (!kept) this.undone.push({ tick, key });
      return kept;
    });
  }
  /** drop drops all effects of a tick. */
  drop(tick) {
    this.begin(tick);
    this.end(tick);
  }
};

// src/predict_guess.ts
var maxTrials = 256;
function guess(from, first, last, attempt) {
  const inputs = [];
  let trials = maxTrials;
  const search = (tick, oldest) => {
    for (const input of from) {
      if (input < oldest || trials === 0) return false;
      if (input > tick) continue;
      trials--;
      inputs.push(input);
      if (attempt(tick, input) && (tick === last || search(tick + 1, input))) return true;
      inputs.pop();
    }
    return false;
  };
  return search(first, 0) ? inputs : void 0;
}

// src/predict_parts.ts
var nearEdge = 0.5 - 1 / 1024;
var exact = new State();
var Part2 = class {
  component;
  shape;
  body;
  text;
  // number of the first text field
  spans = [];
  want;
  // of a row
  got;
  /** offset is the difference between what is drawn and what is predicted. */
  offset;
  way;
  constructor(layout, c) {
    this.component = c;
    this.shape = layout.shapes[c.index];
    this.body = c.index === layout.body;
    this.text = layout.schema.texts.indexOf(c.texts[0]);
    this.want = new Uint32Array(layout.schema.values);
    this.got = new Uint32Array(layout.schema.values);
    let first = 0;
    for (let i = 0; i < c.fields.length; i++) {
      const f2 = c.fields[i];
      const quat = f2.kind === "quat";
      const vector2 = isVector(c.fields, i);
      if (!quat && f2.kind !== "range" && f2.kind !== "float" && f2.kind !== "angle") continue;
      const count = quat || vector2 ? 3 : 1;
      this.spans.push({ first, count, turn: quat || f2.kind === "angle", field: i, quat });
      first += count;
      if (vector2) i += 2;
    }
    this.offset = new Float64Array(first);
    this.way = new Float64Array(first);
  }
  /** zero returns the component with all fields 0 or empty. */
  zero() {
    return zeroOf(this.shape);
  }
  /** read reads the newest state of e, and reports whether its body is computed: it is then in exact. */
  read(e, bodies) {
    const { fields } = this.component;
    if (this.body && bodies && bodies.exact(e.index, exact) !== 0) {
      for (const f2 of fields) quantise(f2, coordinate(exact, f2), this.want, f2.index);
      return true;
    }
    e.copyValues(this.want);
    return false;
  }
  same(f2) {
    for (let i = f2.index; i < f2.index + f2.values; i++) if (this.got[i] !== this.want[i]) return false;
    return true;
  }
  /** compare compares s with the newest state of e. */
  compare(s, e, bodies) {
    const computed = this.read(e, bodies);
    let equal = true;
    for (const [i, f2] of this.component.fields.entries()) {
      const v = this.shape.value(s, i);
      quantise(f2, v, this.got, f2.index);
      if (!this.same(f2)) return "none";
      if (computed && v !== coordinate(exact, f2)) equal = false;
    }
    return equal ? "exact" : "quantised";
  }
  /**
   * adopt changes s as little as needed to quantise to the newest state of e: a range that is one
   * step off moves just across the edge of the step. A computed body is taken over to the bit.
   */
  adopt(s, e, bodies) {
    const computed = this.read(e, bodies);
    for (const [i, f2] of this.component.fields.entries()) {
      if (computed) {
        this.shape.set(s, i, coordinate(exact, f2));
        continue;
      }
      quantise(f2, this.shape.value(s, i), this.got, f2.index);
      if (this.same(f2)) continue;
      const off = this.want[f2.index] - this.got[f2.index];
      if (f2.kind === "range" && Math.abs(off) === 1) {
        const v = numberOf(f2, this.want, f2.index) - off * f2.step * nearEdge;
        quantise(f2, v, this.got, f2.index);
        if (this.same(f2)) {
          this.shape.set(s, i, v);
          continue;
        }
      }
      this.shape.set(s, i, valueOf(f2, this.want, f2.index));
    }
  }
  /** setTexts gives s the newest texts of e. */
  setTexts(s, e) {
    this.component.texts.forEach((f2, i) => this.shape.setText(s, i, e.texts[this.text + i] ?? noText(f2)));
  }
  // Blending.
  /** between writes how far to is from from to way, turns the shorter way; what is longer than snap is 0. */
  between(from, to, snap) {
    const { way, shape } = this;
    for (const s of this.spans) {
      if (s.quat) {
        turnBetween(shape.value(from, s.field), shape.value(to, s.field), way, s.first);
        continue;
      }
      for (let k = 0; k < s.count; k++) {
        let d = Number(shape.value(to, s.field + k)) - Number(shape.value(from, s.field + k));
        if (s.turn) d = shorter(d);
        way[s.first + k] = Number.isFinite(d) ? d : 0;
      }
    }
    this.limit(way, snap);
  }
  /** limit makes the spans of an offset 0 that are too long to be blended, and turns go the shorter way. */
  limit(offset, snap) {
    for (const s of this.spans) {
      let length2 = 0;
      for (let i = s.first; i < s.first + s.count; i++) length2 += offset[i] * offset[i];
      length2 = Math.sqrt(length2);
      let scale = 1;
      if (s.turn && length2 > Math.PI) scale = shorter(length2) / length2;
      else if (!s.turn && length2 > snap) scale = 0;
      for (let i = s.first; i < s.first + s.count; i++) offset[i] *= scale;
    }
  }
  move(v, by, share) {
    for (const s of this.spans) {
      if (s.quat) {
        this.shape.set(v, s.field, turned(this.finite(v, s.field), by, s.first, share));
        continue;
      }
      for (let k = 0; k < s.count; k++) this.shape.set(v, s.field + k, Number(this.finite(v, s.field + k)) + by[s.first + k] * share);
    }
  }
  /** finite returns a field, or what quantising makes of it if it is a NaN. */
  finite(v, i) {
    const f2 = this.component.fields[i];
    const x = this.shape.value(v, i);
    const bad = f2.kind === "quat" ? x.some(Number.isNaN) : Number.isNaN(x);
    if (!bad || f2.kind === "float") return x;
    quantise(f2, x, this.got, f2.index);
    return valueOf(f2, this.got, f2.index);
  }
  /** back moves to by a share of the way back to from. */
  back(from, to, share, snap) {
    this.between(from, to, snap);
    this.move(to, this.way, -share);
  }
  /** blendIn adds the way from now to before to the offset, so that now is drawn as before was. */
  blendIn(now4, before2, snap) {
    this.between(now4, before2, Infinity);
    for (let i = 0; i < this.way.length; i++) this.offset[i] += this.way[i];
    this.limit(this.offset, snap);
  }
  /** addOffset moves s by the offset. */
  addOffset(s) {
    this.move(s, this.offset, 1);
  }
};
function zeroOf(shape) {
  return shape.make((i) => {
    const f2 = shape.fields[i];
    if (f2.kind === "quat") return [0, 0, 0, 0];
    if (f2.kind === "bool") return false;
    return f2.values === 2 && f2.kind !== "float" ? 0n : 0;
  }, (i) => noText(shape.texts[i]));
}
function copyOf(v) {
  if (Array.isArray(v)) return v.map(copyOf);
  if (typeof v !== "object" || v === null) return v;
  if (ArrayBuffer.isView(v)) return v.slice();
  const to = Object.create(Object.getPrototypeOf(v));
  for (const k of Object.keys(v)) to[k] = copyOf(v[k]);
  return to;
}
function shorter(a) {
  return a - 2 * Math.PI * Math.round(a / (2 * Math.PI));
}
function unit2(q) {
  const length2 = Math.hypot(q[0], q[1], q[2], q[3]);
  return length2 > 0 && length2 < Infinity ? [q[0] / length2, q[1] / length2, q[2] / length2, q[3] / length2] : [0, 0, 0, 1];
}
function multiply(a, b) {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]
  ];
}
function turnBetween(a, b, out, at) {
  const from = unit2(a);
  const d = multiply(unit2(b), [-from[0], -from[1], -from[2], from[3]]);
  const sine = Math.hypot(d[0], d[1], d[2]);
  const angle = 2 * Math.atan2(sine, Math.abs(d[3])) * (d[3] < 0 ? -1 : 1);
  for (let i = 0; i < 3; i++) out[at + i] = sine === 0 ? 0 : d[i] / sine * angle;
}
function turned(q, by, at, share) {
  const angle = Math.hypot(by[at], by[at + 1], by[at + 2]);
  if (angle === 0 || share === 0) return q;
  const sine = Math.sin(angle * share / 2) / angle;
  return multiply([by[at] * sine, by[at + 1] * sine, by[at + 2] * sine, Math.cos(angle * share / 2)], unit2(q));
}

// src/predict.ts
var PredictionStats = class {
  /** predicted and confirmed are the newest tick predicted, and whose state the server has sent; 0: none. */
  predicted = 0;
  confirmed = 0;
  /** agreed counts the states of the server that were as predicted, after quantisation; corrected the others. */
  agreed = 0;
  corrected = 0;
  /** missed, of corrected, were explained by inputs that the server missed or applied late. */
  missed = 0;
  /** replayed counts the ticks that were predicted again. */
  replayed = 0;
  /** stalled counts the inputs that were not predicted: too many ticks were unconfirmed. */
  stalled = 0;
  /** undone counts effects. */
  undone = 0;
};
var StepError = class extends Error {
  tick;
  constructor(tick, cause) {
    super(`the step function threw at tick ${tick}: the prediction is off`, { cause });
    this.name = "StepError";
    this.tick = tick;
  }
};
function predict(c, components, step, config = {}) {
  const session = c instanceof Session ? c : c.session;
  const { schema: schema2 } = session;
  if (session.prediction) throw new TypeError("the session has a prediction already");
  if (schema2 && !schema2.input) throw new TypeError("the schema declares no input");
  for (const name of components) if (schema2 && !schema2.components.some((x) => x.name === name)) throw new TypeError(`the schema has no component ${name}`);
  if (components.length === 0 || !((config.snap ?? 0) >= 0)) throw new RangeError("want a component, and a snap of 0 or more");
  const p = new Prediction(session, components, step, config);
  session.prediction = p;
  p.renew();
  p.sync();
  return p;
}
var defaultSnap = 2;
var blendHalfLife = 80;
var resendSnapshots = 9;
var scratch = new State();
var Prediction = class {
  session;
  components;
  step;
  snap;
  undo;
  parts = [];
  // none: the schema lacks a component
  handle = none;
  // the predicted entity
  running = false;
  // there is a state
  paused = false;
  // the connection is lost; until the next state
  confirmed = 0;
  newest = 0;
  ticks = new Uint32Array(window);
  // of inputs
  inputs = new Array(window);
  states = new Array(window);
  held;
  // at the confirmed tick
  heldTick = 0;
  // of held; 0: none
  applied = 0;
  // newest input that the server is known to have applied by the confirmed tick
  lastInput = 0;
  // newest tick in inputs; 0: none
  lostInput = 0;
  // of lastInput, when the connection broke
  stepping = 0;
  // tick of the step function's call; 0: not in it
  trying = false;
  // steps have no effects
  failed;
  drawn = false;
  // something was drawn: tick drawnTick, at drawnAt
  drawnTick = 0;
  drawnAt = 0;
  effects = new Effects();
  counts = new PredictionStats();
  /** @internal */
  constructor(session, components, step, config) {
    this.session = session;
    this.components = components;
    this.step = step;
    this.snap = config.snap || defaultSnap;
    this.undo = config.undo;
  }
  // What a game uses.
  /**
   * state returns a copy of the newest predicted state, of stats.predicted, for game rules;
   * undefined while nothing is predicted: no entity is controlled, it is not in view or lacks a
   * component, or there is an error.
   */
  get state() {
    return this.running ? this.withTexts(copyOf(this.at(this.newest))) : void 0;
  }
  /**
   * draw returns the state to draw at the newest moment that render returned, and undefined
   * while nothing is predicted: then draw the entity as all others. Motion within a tick is
   * interpolated, and mispredictions are blended: half of an error is gone after 80 ms.
   */
  draw() {
    if (!this.running) return void 0;
    const { at, inputTick } = this.session.rendered;
    const tick = inputTick === 0 ? this.newest : inputTick;
    if (this.drawn) {
      const passed = Math.max(at - this.drawnAt, 0);
      const share = 2 ** (-passed / blendHalfLife);
      for (const p of this.parts) for (let i = 0; i < p.offset.length; i++) p.offset[i] *= share;
      const even = this.drawnTick + passed * this.session.welcome.tickHz / 1e3;
      if (even !== tick) this.blend(this.interpolate(even), this.interpolate(tick));
    }
    this.drawn = true;
    this.drawnTick = tick;
    this.drawnAt = at;
    const s = this.interpolate(tick);
    for (const p of this.parts) p.addOffset(s[p.component.name]);
    return this.withTexts(s);
  }
  /**
   * once reports whether to start an effect, such as a sound, that step asks for at its tick
   * under a key that is unique in the tick. It is true when the effect is first predicted, not
   * when the tick is predicted again. If that does not ask for the effect, undo is called.
   * Effects of a tick that the server has confirmed are final. once is false outside step, and
   * for more than 8 effects of a tick.
   */
  once(tick, key) {
    return this.stepping !== 0 && this.stepping === tick && !this.trying && this.effects.ask(tick, key);
  }
  /** error is set if the step function threw. */
  get error() {
    return this.failed;
  }
  /** stats returns the counters since predict. */
  get stats() {
    const [predicted, confirmed] = this.running ? [this.newest, this.confirmed] : [0, 0];
    return { ...this.counts, predicted, confirmed };
  }
  // What the session calls.
  /** @internal input records the input of a tick and predicts it. */
  input(tick, input) {
    const following = this.running && !this.paused;
    if (this.failed || this.stepping !== 0 || following && tick <= this.confirmed) return;
    if (following && tick > this.confirmed + maxPredicted) {
      this.counts.stalled++;
      return;
    }
    if (tick < this.lastInput) this.forgetInputs((t) => t >= tick);
    this.ticks[slotOf(tick)] = this.lastInput = tick;
    this.inputs[slotOf(tick)] = input;
    if (following) {
      this.truncate(tick);
      this.run(Math.min(tick, this.newest + 1), tick);
    }
    this.deliverUndone();
  }
  /** @internal sync compares the prediction with the newest state of the server, after everything that was received. */
  sync() {
    if (this.stepping !== 0) return;
    const e = this.entity();
    if (!e || e.handle !== this.handle) {
      this.stop();
      this.handle = e?.handle ?? none;
    }
    if (e) {
      const tick = this.knownUntil(this.session.replica, e);
      if (tick > 2 ** 32 - 1 - 2 * window) this.stop();
      else if (!this.running) this.start(e, tick);
      else if (tick > this.confirmed) this.confirm(e, tick);
    }
    this.deliverUndone();
  }
  /** @internal renew drops everything at the start of a new session, which may have another schema. */
  renew() {
    this.stop();
    this.ticks.fill(0);
    this.lastInput = 0;
    this.handle = none;
    this.parts = [];
    const layout = this.session.replica?.layout;
    const parts = layout && this.components.flatMap((name) => layout.component(name) ?? []);
    if (layout && parts?.length === this.components.length && this.session.inputShape) {
      this.parts = parts.map((c) => new Part2(layout, c));
      this.held = zeroOf(this.session.inputShape);
    }
    this.deliverUndone();
  }
  /** @internal pause keeps the predicted state until the session has resumed and received a state. */
  pause() {
    this.paused = true;
    this.lostInput = this.lastInput;
  }
  // The engine.
  at(tick) {
    return this.states[slotOf(tick)];
  }
  hasInput(tick) {
    return this.ticks[slotOf(tick)] === tick;
  }
  /** entity returns the controlled entity if it can be predicted. */
  entity() {
    const { replica, controlled } = this.session;
    if (this.failed || this.parts.length === 0) return void 0;
    const e = replica?.entity(controlled);
    return e?.owned && this.parts.every((p) => e.mask >>> p.component.index & 1) ? e : void 0;
  }
  /**
   * knownUntil returns the newest tick at which e is known to have its current state. Every
   * snapshot has a row of e unless the client has its state, or a snapshot that has it is under
   * way. So a snapshot without such a row repeats the state if none was lost since that, or in
   * the time after which the server sends the row again. Of a computed body a row is sent only
   * after a disturbance.
   */
  knownUntil(r, e) {
    if (e.isComputed) return Math.max(r.bodies.exact(e.index, scratch), e.tick);
    const since = r.ackTick(Math.min(r.acks.run, 63));
    const w = this.session.welcome;
    const resend = w ? resendSnapshots * Math.max(1, Math.floor(w.tickHz / Math.max(1, w.snapshotHz))) : 0;
    return r.tick <= e.tick || e.tick < since && r.tick - since <= resend ? e.tick : r.tick;
  }
  forgetInputs(which) {
    this.ticks.forEach((t, i) => {
      if (which(t)) this.ticks[i] = 0;
    });
  }
  /** truncate drops the predicted states after tick. */
  truncate(tick) {
    for (; this.newest > Math.max(tick, this.confirmed); this.newest--) this.effects.drop(this.newest);
  }
  /** target returns the newest tick to predict. */
  target() {
    return Math.max(this.confirmed, Math.min(this.lastInput, this.confirmed + maxPredicted));
  }
  /** start begins to predict from the state of e at tick. */
  start(e, tick) {
    const s = /* @__PURE__ */ Object.create(null);
    for (const p of this.parts) s[p.component.name] = p.zero();
    this.states[slotOf(tick)] = s;
    this.restore(e, tick);
    this.confirmed = this.newest = tick;
    this.running = true;
    this.paused = false;
    let held = 0;
    for (const t of this.ticks) if (t <= tick && t > held) held = t;
    this.hold(held);
    this.applied = 0;
    this.noteApplied();
    this.run(tick + 1, this.target());
  }
  /** hold makes the recorded input of a tick the held one; 0 is none. */
  hold(tick) {
    this.heldTick = tick;
    this.held = tick > 0 ? this.inputs[slotOf(tick)] : zeroOf(this.session.inputShape);
  }
  noteApplied() {
    const r = this.session.replica;
    if (r.tick === this.confirmed) this.applied = r.input;
  }
  /** stop drops the prediction: the entity died, left view or is no longer controlled. */
  stop() {
    if (!this.running) return;
    this.truncate(this.confirmed);
    this.running = this.paused = this.drawn = false;
    for (const p of this.parts) p.offset.fill(0);
  }
  /** resume drops the inputs that were under way when the connection broke, or are too late at tick. */
  resume(tick) {
    const applied = this.session.replica.input;
    this.forgetInputs((t) => t > applied && t <= Math.max(this.lostInput, tick));
    if (applied !== 0 && this.hasInput(applied)) this.hold(applied);
  }
  /** confirm compares the server's state at tick with the predicted one, and corrects the prediction if they differ (C7). */
  confirm(e, tick) {
    if (!this.paused && tick > this.newest && tick - this.confirmed <= maxPredicted) this.run(this.newest + 1, tick);
    const known = tick <= this.newest && !this.paused && this.running;
    const found = known ? this.compare(e, tick) : "none";
    if (found !== "none") this.counts.agreed++;
    if (found === "exact") {
      this.accept(tick);
      this.run(this.newest + 1, this.target());
      return;
    }
    const before2 = this.running && this.drawn ? this.interpolate(this.drawnTick) : void 0;
    if (this.paused) this.resume(tick);
    if (!known) {
      this.undoUnapplied(tick);
      this.states[slotOf(tick)] = copyOf(this.at(this.newest));
    } else if (found === "none") {
      if (this.explained(e, tick)) this.counts.missed++;
      this.counts.corrected++;
    }
    this.restore(e, tick);
    this.accept(tick);
    this.truncate(this.target());
    this.run(tick + 1, this.target());
    if (this.running && before2) this.blend(before2, this.interpolate(this.drawnTick));
  }
  /**
   * explained searches inputs with which step gives the server's state at tick, where the server
   * missed some or applied them late, and predicts again up to tick with them. The state then
   * keeps its precision. If there are none, it predicts as if all inputs that the server had
   * applied by then had been in time.
   */
  explained(e, tick) {
    const r = this.session.replica;
    const most = Math.min(tick, r.input);
    const from = [this.heldTick, ...this.ticks].filter((t) => t >= this.applied && t <= most && (t > 0 || this.heldTick === 0)).sort((a, b) => b - a);
    if (from.length === 0) return false;
    const inputOf = (t) => t > 0 && this.hasInput(t) ? this.inputs[slotOf(t)] : this.held;
    this.trying = true;
    const inputs = guess([...new Set(from)], this.confirmed + 1, tick, (t, input) => {
      if (this.failed || t === tick && tick === r.tick && input !== r.input) return false;
      this.callStep(t, inputOf(input));
      return !this.failed && (t < tick || this.compare(e, tick) !== "none");
    });
    this.trying = false;
    for (let t = this.confirmed + 1; t <= tick && !this.failed; t++) {
      const input = inputs ? inputs[t - this.confirmed - 1] : from.find((in_) => in_ <= t);
      this.runTick(t, input === void 0 ? this.held : inputOf(input));
    }
    return inputs !== void 0 && !this.failed;
  }
  /** accept makes tick the confirmed one. */
  accept(tick) {
    let t = tick;
    const least = Math.max(this.confirmed, tick - window, 0);
    while (t > least && !this.hasInput(t)) t--;
    if (t > least) this.hold(t);
    this.confirmed = tick;
    this.noteApplied();
    this.paused = false;
    this.newest = Math.max(this.newest, tick);
  }
  /** run predicts the ticks from a tick whose predecessor has a state. */
  run(from, to) {
    let input = this.held;
    for (let t = this.confirmed + 1; t <= to && !this.failed; t++) {
      if (this.hasInput(t)) input = this.inputs[slotOf(t)];
      if (t >= from) this.runTick(t, input);
    }
  }
  runTick(t, input) {
    if (t <= this.newest) this.counts.replayed++;
    this.effects.begin(t);
    this.callStep(t, input);
    if (this.failed) return;
    this.effects.end(t);
    this.newest = Math.max(this.newest, t);
  }
  callStep(t, input) {
    const s = copyOf(this.at(t - 1));
    this.states[slotOf(t)] = s;
    this.stepping = t;
    try {
      this.step(t, s, input);
    } catch (cause) {
      this.failed = new StepError(t, cause);
      this.effects.drop(t);
      this.stop();
    } finally {
      this.stepping = 0;
    }
  }
  restore(e, tick) {
    for (const p of this.parts) p.adopt(this.at(tick)[p.component.name], e, this.session.replica.bodies);
  }
  compare(e, tick) {
    let found = "exact";
    for (const p of this.parts) {
      const part = p.compare(this.at(tick)[p.component.name], e, this.session.replica.bodies);
      if (part === "none") return part;
      if (part === "quantised") found = part;
    }
    return found;
  }
  /** withTexts gives s the newest texts. */
  withTexts(s) {
    const e = this.entity();
    if (e) for (const p of this.parts) p.setTexts(s[p.component.name], e);
    return s;
  }
  /** interpolate returns the state at a tick with fractions. */
  interpolate(tick) {
    tick = Math.min(Math.max(tick, this.confirmed), this.newest);
    const from = Math.floor(tick);
    if (from === tick) return copyOf(this.at(from));
    const s = copyOf(this.at(from + 1));
    for (const p of this.parts) p.back(this.at(from)[p.component.name], s[p.component.name], from + 1 - tick, this.snap);
    return s;
  }
  /** blend adds to the offset what makes now be drawn as before was. */
  blend(before2, now4) {
    for (const p of this.parts) p.blendIn(now4[p.component.name], before2[p.component.name], this.snap);
  }
  /** undoUnapplied drops the effects of the ticks up to one that are not predicted again and whose inputs the server has not applied. */
  undoUnapplied(tick) {
    const first = Math.max(this.confirmed, this.session.replica.input) + 1;
    for (let t = first; t <= Math.min(this.newest, tick); t++) this.effects.drop(t);
  }
  deliverUndone() {
    for (let u = this.effects.undone.shift(); u; u = this.effects.undone.shift()) {
      const { tick, key } = u;
      this.counts.undone++;
      guard(() => this.undo?.(tick, key));
    }
  }
};

// test/server.ts
var schemaText = `worldd schema 2
component purse
Coins int 20
component name
Name string 24
kind crate
input
X range bff0000000000000 3f60000000000000 1024
At ref
command buy
Count uint 5
answer
Left int 20
event chime
Serial uint 8
`;
var tablesVersion = 439885893;
function frame(type, body2) {
  const w = new ByteWriter();
  appendFrame(w, type, body2);
  return w.take();
}
function welcome(o = {}) {
  const w = new MsgpackWriter();
  w.array(18);
  w.uint(o.protocol ?? 4);
  w.u64(o.schema ?? hashOf(o.text || schemaText));
  w.uint(o.tables ?? tablesVersion);
  w.u64(BigInt(o.epoch ?? 7));
  w.uint(o.floor ?? 0);
  w.uint(o.ceiling ?? 4294967295);
  w.uint(60);
  w.uint(20);
  w.uint(o.maxSlots ?? 1e3);
  w.uint(o.session ?? 1);
  w.uint(100);
  w.uint(o.resumed ? 1 : 0);
  w.bin(o.secret ?? new Uint8Array(16).fill(9));
  w.str(o.room ?? "");
  w.uint(o.simulate ? 1 : 0);
  w.uint(o.commands ?? 0);
  w.uint(o.structure ?? 0);
  w.str(o.text ?? schemaText);
  return frame(Type.welcome, w.take());
}
function structure(first, ...records) {
  const w = new ByteWriter();
  w.uvarint(first);
  w.uvarint(1);
  for (const r of records) w.bytes(r);
  return frame(Type.structure, w.take());
}
var Link = class {
  arrived;
  bytesReceived = 0;
  closed;
  datagrams = [];
  in = { stream: [], datagrams: [], error: void 0 };
  frames = new FrameReader();
  receive() {
    const arrivals = this.in;
    this.in = { stream: [], datagrams: [], error: arrivals.error };
    return arrivals;
  }
  sendStream(b) {
    this.frames.feed(b);
  }
  sendDatagram(d) {
    this.datagrams.push(d.slice());
  }
  close(code) {
    this.closed ??= code;
  }
  /** deliver makes bytes of the stream arrive. */
  deliver(...all) {
    this.in.stream.push(...all);
    this.arrived?.();
  }
  deliverDatagram(bytes, at) {
    this.in.datagrams.push({ bytes, at });
    this.arrived?.();
  }
  break(error) {
    this.in.error = error;
    this.arrived?.();
  }
  /** next returns the next message that the client sent. */
  next() {
    const body2 = this.frames.next();
    return body2 && { type: this.frames.type, body: body2.slice() };
  }
  /** hello returns the client's Hello. */
  hello() {
    const m = this.next();
    if (m?.type !== Type.hello) throw new Error("no Hello");
    const r = new MsgpackReader(m.body);
    r.array(11);
    r.uint("protocol", 4);
    const schema2 = r.u64("schema");
    r.uint("tables", 2 ** 32);
    const seen = {
      schema: schema2,
      epoch: r.u64("epoch"),
      session: r.u64("session"),
      secret: r.bin("secret", 16),
      structure: r.uint("structure", 2 ** 32),
      token: r.bin("token", 2048)
    };
    r.str("name", 64);
    return { ...seen, room: r.str("room", 64), abilities: r.uint("abilities", 1) };
  }
};

// page/steering.ts
var f = Math.fround;
function course(s) {
  const x = f(Math.max(s.X, -127) / 127);
  const z = f(Math.max(s.Z, -127) / 127);
  const length2 = Math.sqrt(x * x + z * z);
  return length2 > 1 ? [f(x / length2), f(z / length2)] : [x, z];
}
function steer(m, body2, s) {
  const [x, z] = course(s);
  axis(m, body2, 0, x, m.halfX);
  axis(m, body2, 2, z, m.halfZ);
}
function axis(m, body2, i, course2, half) {
  let v = f(course2 * m.speed);
  const at = f(body2.Position[i] + f(v * f(1 / m.tickHz)));
  body2.Position[i] = Math.min(Math.max(at, -half), half);
  if (body2.Position[i] !== at) v = 0;
  body2.Velocity[i] = v;
}

// test/vectors.ts
import { readFileSync } from "node:fs";
import { join } from "node:path";
var root = globalThis.process?.env.WORLDD_ROOT ?? "../..";
function readFile(path) {
  return new Uint8Array(readFileSync(join(root, path)));
}

// test/predict.test.ts
await defaultTables();
mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
var turn = () => new Promise((resolve) => setImmediate(resolve));
var vector = (name, low, step, largest) => [0, 1, 2].map((i) => `${name}[${i}] range ${low} ${step} ${largest} linear
`).join("");
var schemaText2 = `worldd schema 2
component body
${vector("Position", "c090000000000000", "3f70000000000000", 524288)}${vector("Velocity", "c060000000000000", "3fa0000000000000", 8192)}kind avatar
input
X int 8
Z int 8
`;
var schema = parseSchema(schemaText2);
var body = new Shape(schema.components[0].fields, []);
var stick = new Shape(schema.input.fields, []);
var motion = { tickHz: 60, speed: 6, halfX: 100, halfZ: 100 };
var player = newHandle(5, 1);
var interval = 3;
var reader = new BitReader();
var Track = class {
  delay;
  now = 1e4;
  tick = 1e3;
  truth = { Position: [0, 0, 0], Velocity: [0, 0, 0] };
  held = { X: 0, Z: 0 };
  input = () => ({ X: 0, Z: 0 });
  frames = 0;
  client;
  play;
  links = [];
  sticks = /* @__PURE__ */ new Map();
  // received, by tick
  stepped = [];
  // ticks that the client's step was called for
  inside = () => {
  };
  applied = 0;
  late = 0;
  // newest input that arrived after its tick since the last one
  seq = 0;
  records = 0;
  stamp = 0;
  heard = 0;
  next = 0;
  // when the next tick is
  read = 0;
  // datagrams of the link
  up = [];
  down = [];
  constructor(delay) {
    this.delay = delay;
    this.next = this.now;
    performance.now = () => this.now;
  }
  get link() {
    return this.links.at(-1);
  }
  async join(config = {}) {
    const connecting = Client.connect({
      url: "https://game.example:7777/worldd",
      dial: async () => {
        this.links.push(new Link());
        return this.link;
      }
    });
    await this.attached(1);
    this.link.deliver(welcome({ schema: hashOf(schemaText2), text: schemaText2 }));
    this.client = await connecting;
    this.play = predict(this.client, ["body"], (tick, s, in_) => {
      this.stepped.push(tick);
      this.inside(tick);
      steer(motion, s.body, in_);
    }, config);
    const control = new MsgpackWriter();
    control.array(1);
    control.u64(player);
    const enter = new ByteWriter();
    enter.u8(1 | 1 << 3);
    enter.uvarint(5);
    enter.uvarint(1);
    enter.uvarint(0);
    const row = this.row(new BitWriter(), true);
    enter.uvarint(row.length);
    enter.bytes(row);
    this.link.deliver(structure(++this.records, enter.take()), frame(Type.control, control.take()));
    this.client.update();
    return this;
  }
  async attached(n) {
    for (let i = 0; i < 1e3 && !this.links[n - 1]?.arrived; i++) await turn();
    assert.equal(this.links.length, n);
  }
  /** lose breaks the connection, and everything under way. */
  async lose() {
    this.link.break(new Error("gone"));
    this.client.update();
    mock.timers.tick(6e3);
    await this.attached(this.links.length === 1 ? 2 : this.links.length);
    this.up.length = this.down.length = this.read = 0;
  }
  resume() {
    this.link.deliver(welcome({ schema: hashOf(schemaText2), text: "", resumed: true, structure: this.records }));
    this.client.update();
  }
  row(w, masked) {
    if (masked) w.bits(1, 1);
    const { values } = body.quantise(this.truth, schema.values);
    for (const f2 of body.fields) f2.write(w, values, f2.index);
    return w.bytes();
  }
  /** serve plays a tick of the server, which holds the newest stick. */
  serve() {
    this.tick++;
    const due = this.sticks.has(this.tick) ? this.tick : this.late;
    this.late = 0;
    if (due > this.applied) {
      this.held = this.sticks.get(due);
      this.applied = due;
    }
    steer(motion, this.truth, this.held);
    if (this.tick % interval === 0) this.down.push({ at: this.now + this.delay, d: this.snapshot() });
  }
  snapshot() {
    const fold = new Fold();
    fold.add(5, 1);
    const w = new ByteWriter();
    w.u8(64);
    w.u32(this.stamp);
    const hold = Math.min((this.now - this.heard) * 10, 65535);
    w.u8(hold & 255);
    w.u8(hold >> 8);
    w.u32(++this.seq);
    w.u32(this.tick);
    w.u32(this.records);
    w.uvarint(this.applied === 0 ? 0 : this.tick - this.applied + 1);
    w.u8(0);
    w.u8(fold.value & 255);
    w.u8(fold.value >> 8);
    w.uvarint(1);
    const bits = new BitWriter();
    bits.bits(4, 4);
    bits.bits(0, 5);
    bits.bits(5 << 1, 5);
    bits.bits(0, 1);
    w.bytes(this.row(bits, false));
    return w.take();
  }
  receive(d) {
    const r = new ByteReader(d, 1);
    this.stamp = r.u32();
    this.heard = this.now;
    r.bytes(17);
    for (let n = r.uvarint("inputs", 16); n > 0; n--) {
      const tick = r.u32();
      if (r.uvarint("back") > 0) r.u8();
      const bits = r.bytes(r.uvarint("length", 64));
      if (tick <= this.applied) continue;
      if (tick <= this.tick) this.late = Math.max(this.late, tick);
      this.sticks.set(tick, stick.restore(schema.input.parse(reader, bits)));
    }
  }
  /** crowded plays so many ms on a machine that is too busy: the client does nothing between frames of 4 to 40 ms, one in 40 up to 200 ms late, and one in ten of its datagrams is lost. */
  crowded(ms, random) {
    let next = this.now;
    for (const end = this.now + ms; this.now < end; this.now++) {
      while (this.up.length > 0 && this.up[0].at <= this.now) this.receive(this.up.shift().d);
      if (this.now >= this.next) {
        this.next += 1e3 / motion.tickHz;
        this.serve();
      }
      if (this.now < next) continue;
      next = this.now + 4 + Math.floor(36 * random()) + (random() < 1 / 40 ? 50 + Math.floor(150 * random()) : 0);
      for (; this.down.length > 0 && this.down[0].at <= this.now; this.down.shift()) this.link.deliverDatagram(this.down[0].d, this.now);
      this.client.update();
      this.client.setInput(this.input(this.frames++));
      this.client.render();
      this.client.update();
      for (; this.read < this.link.datagrams.length; this.read++) {
        if (random() >= 0.1) this.up.push({ at: this.now + this.delay, d: this.link.datagrams[this.read] });
      }
    }
  }
  /** run plays so many ms; frame is called for each frame of the client, after its input. */
  run(ms, frame2 = () => {
  }, connected = true) {
    for (const end = this.now + ms; this.now < end; this.now++) {
      while (this.up.length > 0 && this.up[0].at <= this.now) this.receive(this.up.shift().d);
      if (this.now >= this.next) {
        this.next += 1e3 / motion.tickHz;
        this.serve();
      }
      if (!connected) continue;
      for (; this.down.length > 0 && this.down[0].at <= this.now; this.down.shift()) this.link.deliverDatagram(this.down[0].d, this.now);
      this.client.update();
      if (this.now % 17 === 0) {
        this.client.setInput(this.input(this.frames++));
        this.client.render();
        frame2();
      }
      for (; this.read < this.link.datagrams.length; this.read++) this.up.push({ at: this.now + this.delay, d: this.link.datagrams[this.read] });
    }
  }
};
var zigzag = (frame2) => ({ X: Math.round(127 * Math.sin(frame2 >> 4)), Z: Math.round(127 * Math.cos(3 * (frame2 >> 4))) });
var surprises = (k) => k.play.stats.corrected - k.play.stats.missed;
var { now: now3 } = performance;
test.afterEach(() => {
  performance.now = now3;
});
test("steer has the bits of the server", () => {
  const text = new TextDecoder().decode(readFile("internal/scenes/steering/testdata/steps.txt"));
  const bits = new Uint32Array(1);
  const single2 = new Float32Array(bits.buffer);
  const hex = (v) => {
    single2[0] = v;
    return bits[0].toString(16).padStart(8, "0");
  };
  const a = { Position: [0, 0, 0], Velocity: [0, 0, 0] };
  const lines = text.trimEnd().split("\n");
  for (const line of lines) {
    const [x, z, ...want] = line.split(" ");
    steer({ tickHz: 60, speed: 6, halfX: 3, halfZ: 2 }, a, { X: Number(x), Z: Number(z) });
    assert.deepEqual([a.Position[0], a.Position[2], a.Velocity[0], a.Velocity[2]].map(hex), want, line);
  }
  assert.ok(lines.length >= 500);
});
test("without surprises nothing is corrected, and an input moves the avatar in its frame", async () => {
  const k = await new Track(60).join();
  k.run(3e3);
  assert.ok(k.play.state);
  k.input = zigzag;
  const ahead = [];
  k.run(1e4, () => {
    const { predicted, confirmed } = k.play.stats;
    ahead.push(predicted - confirmed);
    assert.equal(k.stepped.at(-1), predicted);
  });
  const { corrected, agreed, stalled, replayed } = k.play.stats;
  assert.equal(corrected, 0);
  assert.equal(stalled, 0);
  assert.ok(agreed > 180, `${agreed}`);
  assert.ok(replayed < 60, `${replayed} ticks predicted again`);
  assert.ok(Math.min(...ahead) >= 7, "a round trip ahead");
  k.input = () => ({ X: 0, Z: 0 });
  k.run(1e3);
  assert.deepEqual(k.play.state.body.Position, k.truth.Position, "the same bits");
  k.client.close();
});
test("on a busy machine each correction is explained by inputs that came late", async () => {
  let seed = 1;
  const random = () => (seed = seed * 48271 % 2147483647) / 2147483647;
  let late = 0;
  for (const delay of [0, 10, 60]) {
    const k = await new Track(delay).join();
    k.run(3e3);
    k.input = () => ({ X: Math.floor(255 * random()) - 127, Z: Math.floor(255 * random()) - 127 });
    k.crowded(2e4, random);
    const { corrected, missed, agreed } = k.play.stats;
    assert.equal(corrected - missed, 0, `of ${corrected}`);
    assert.ok(agreed > 200, `${agreed}`);
    late += missed;
    k.client.close();
  }
  assert.ok(late > 10, `${late}`);
});
test("a push is corrected within a round trip and an interval, and drawn smoothly", async () => {
  const k = await new Track(60).join();
  k.input = () => ({ X: 20, Z: 0 });
  k.run(3e3);
  const before2 = surprises(k);
  for (let push = 0; push < 8; push++) {
    k.run(500 + 7 * push);
    k.truth.Position[2] = Math.fround(k.truth.Position[2] + 1);
    const pushed = k.now;
    let last2 = k.play.draw().body.Position[2];
    let took = 0;
    k.run(1e3, () => {
      const drawn = k.play.draw().body.Position[2];
      assert.ok(Math.abs(drawn - last2) < 0.15, `a jump of ${drawn - last2}`);
      last2 = drawn;
      if (took === 0 && Math.abs(k.play.state.body.Position[2] - k.truth.Position[2]) < 1 / 256) took = k.now - pushed;
    });
    assert.ok(took > 0 && took <= 2 * 60 + 50 + 17, `${took} ms`);
    assert.ok(Math.abs(last2 - k.truth.Position[2]) < 0.01, "the error is gone");
    assert.equal(surprises(k) - before2, push + 1);
  }
  k.truth.Position[0] += 3;
  let jumps = 0;
  let last = k.play.draw().body.Position[0];
  k.run(500, () => {
    const drawn = k.play.draw().body.Position[0];
    if (drawn - last > 2.9) jumps++;
    last = drawn;
  });
  assert.equal(jumps, 1, "beyond snap it is drawn at once");
  k.client.close();
});
test("an effect starts once, and is undone if its tick is predicted again without it", async () => {
  const undone = [];
  const k = await new Track(60).join({ undo: (tick, key) => undone.push([tick, key]) });
  k.input = zigzag;
  k.run(2e3);
  const started = [];
  let wanted = true;
  k.inside = (tick) => {
    if (wanted && tick % 20 === 0 && k.play.once(tick, 7)) started.push(tick);
  };
  assert.equal(k.play.once(k.play.stats.predicted, 7), false, "outside step");
  k.run(1e3);
  const before2 = k.play.stats.replayed;
  k.truth.Position[2] += 1;
  k.run(1e3);
  assert.ok(k.play.stats.replayed > before2, "ticks were predicted again");
  assert.equal(new Set(started).size, started.length);
  assert.ok(started.length >= 5);
  assert.deepEqual(undone, []);
  for (let i = 0; i < 200 && started.at(-1) <= k.play.stats.predicted - 4; i++) k.run(5);
  const last = started.at(-1);
  wanted = false;
  k.truth.Position[2] += 1;
  k.run(1e3);
  assert.deepEqual(undone, [[last, 7]]);
  k.client.close();
});
test("an outage pauses the prediction, which goes on when the session has resumed", async () => {
  const k = await new Track(60).join();
  k.input = zigzag;
  k.run(3e3);
  await k.lose();
  const { predicted } = k.play.stats;
  k.run(1500, void 0, false);
  k.client.setInput({ X: 127, Z: 127 });
  assert.equal(k.play.stats.predicted, predicted, "it stands still");
  k.resume();
  k.run(2e3);
  assert.ok(k.play.stats.confirmed > predicted + 100);
  k.input = () => ({ X: 0, Z: 0 });
  k.run(1e3);
  const { corrected } = k.play.stats;
  k.run(1e3);
  assert.equal(k.play.stats.corrected, corrected, "all is well again");
  for (const i of [0, 2]) assert.ok(Math.abs(k.play.state.body.Position[i] - k.truth.Position[i]) <= 1 / 256);
  k.client.close();
});
test("a step that throws turns the prediction off, and the session goes on", async () => {
  const k = await new Track(60).join();
  k.run(1e3);
  k.inside = () => {
    throw new Error("mine");
  };
  k.run(100);
  assert.equal(k.play.error?.name, "StepError");
  assert.match(String(k.play.error?.cause), /mine/);
  assert.equal(k.play.state, void 0);
  assert.equal(k.play.draw(), void 0);
  assert.equal(k.client.state, "joined");
  k.client.close();
});
test("what predict needs", async () => {
  const k = await new Track(60).join();
  assert.throws(() => predict(k.client, ["body"], () => {
  }), /already/);
  k.client.close();
  const other = await new Track(60).join();
  other.client.session.prediction = void 0;
  assert.throws(() => predict(other.client, ["wings"], () => {
  }), /no component wings/);
  assert.throws(() => predict(other.client, [], () => {
  }), RangeError);
  other.client.close();
});
